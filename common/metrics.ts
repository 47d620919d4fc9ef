import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";

/** The definition of a metric. */
export interface MetricDefinition {
  /** Without the program's prefix. */
  readonly name: string;
  readonly help: string;
  /** Labels with a few known values each, never names that a user chooses. */
  readonly labelNames: readonly string[];
}

type Table<D extends MetricDefinition = MetricDefinition> = Readonly<Record<string, D>>;
type LabelOf<D extends MetricDefinition> = D["labelNames"][number];

/** Milliseconds between samples of the event loop's delay; the default of 10 would wake an idle process too often. */
const LOOP_SAMPLE = 100;
/** Milliseconds between samples of its utilization; the default of 100 costs a fifth of an idle agent's CPU time. */
const SHARE_SAMPLE = 10_000;

/** The metrics of a program, by key of its tables. */
export class ProgramMetrics<
  Histograms extends Table<MetricDefinition & { readonly buckets: number[] }>,
  Counters extends Table,
  Gauges extends Table,
> {
  readonly #registry = new Registry();
  readonly histograms: { readonly [K in keyof Histograms]: Histogram<LabelOf<Histograms[K]>> };
  readonly counters: { readonly [K in keyof Counters]: Counter<LabelOf<Counters[K]>> };
  readonly gauges: { readonly [K in keyof Gauges]: Gauge<LabelOf<Gauges[K]>> };

  /** `prefix`: the prefix of all names. */
  constructor(prefix: string, histograms: Histograms, counters: Counters, gauges: Gauges) {
    const each = <D extends MetricDefinition>(
      table: Table<D>,
      create: (config: D & { registers: Registry[] }) => object,
    ) => {
      const metrics = Object.entries(table).map(([key, definition]) => {
        const name = `${prefix}${definition.name}`;
        return [key, create({ ...definition, name, registers: [this.#registry] })] as const;
      });
      // The compiler cannot follow keys and labels through Object.fromEntries.
      return Object.fromEntries(metrics) as never;
    };
    this.histograms = each(histograms, (config) => new Histogram(config));
    this.counters = each(counters, (config) => new Counter(config));
    this.gauges = each(gauges, (config) => new Gauge(config));
  }

  /** Media type of `text`. */
  get contentType(): string {
    return this.#registry.contentType;
  }

  /** Starts the metrics of the process: `process_*` and `nodejs_*`. */
  start(): void {
    collectDefaultMetrics({
      register: this.#registry,
      eventLoopMonitoringPrecision: LOOP_SAMPLE,
      eventLoopUtilizationTimeout: SHARE_SAMPLE,
    });
  }

  /** All metrics in the text format of Prometheus. */
  text(): Promise<string> {
    return this.#registry.metrics();
  }
}
