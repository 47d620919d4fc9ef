import { Counter, Gauge, Histogram, type Registry } from "prom-client";

/** What a metric is, before anything is counted. */
export interface MetricDefinition {
  /** Without the prefix of its program. */
  readonly name: string;
  readonly help: string;
  /** Every label takes few values, all of them known here: none is a name that somebody may choose. */
  readonly labelNames: readonly string[];
}

type Table = Readonly<Record<string, MetricDefinition>>;
type LabelOf<D extends MetricDefinition> = D["labelNames"][number];
type Gauges<T extends Table> = { readonly [K in keyof T]: Gauge<LabelOf<T[K]>> };
type Counters<T extends Table> = { readonly [K in keyof T]: Counter<LabelOf<T[K]>> };
type Histograms<T extends Table> = { readonly [K in keyof T]: Histogram<LabelOf<T[K]>> };

// Keys and labels of what is made are those of the table, which the compiler cannot follow through a map.

/** A gauge for each definition of a table. `prefix`: what the name of each starts with. */
export function gauges<T extends Table>(table: T, prefix: string, registry: Registry): Gauges<T> {
  return each(
    table,
    (definition) => new Gauge(configOf(definition, prefix, registry)),
  ) as Gauges<T>;
}

/** A counter for each definition of a table. */
export function counters<T extends Table>(
  table: T,
  prefix: string,
  registry: Registry,
): Counters<T> {
  return each(
    table,
    (definition) => new Counter(configOf(definition, prefix, registry)),
  ) as Counters<T>;
}

/** A histogram for each definition of a table. */
export function histograms<
  T extends Readonly<Record<string, MetricDefinition & { buckets: number[] }>>,
>(table: T, prefix: string, registry: Registry): Histograms<T> {
  return each(table, (definition) => {
    return new Histogram({
      ...configOf(definition, prefix, registry),
      buckets: definition.buckets,
    });
  }) as Histograms<T>;
}

function each<D, M>(table: Readonly<Record<string, D>>, make: (definition: D) => M): object {
  return Object.fromEntries(
    Object.entries(table).map(([key, definition]) => [key, make(definition)]),
  );
}

function configOf(
  { name, help, labelNames }: MetricDefinition,
  prefix: string,
  registry: Registry,
) {
  return { name: `${prefix}${name}`, help, labelNames, registers: [registry] };
}
