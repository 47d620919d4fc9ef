import { parser } from "@prometheus-io/lezer-promql";

/** What a query selects, and the labels that it uses. */
export interface QueryParts {
  /** Every vector selector: the metric, and the labels of its matchers. */
  readonly selectors: readonly { readonly metric: string; readonly labels: readonly string[] }[];
  /** The labels of `by`, `without`, `on`, `ignoring` and `group_*`. */
  readonly grouping: readonly string[];
}

type Node = typeof parser extends { parse(text: string): { readonly topNode: infer N } }
  ? N
  : never;

/** The parts of a query, by the grammar of Prometheus' own editor. Throws an Error if it is not PromQL. PURE. */
export function queryParts(query: string): QueryParts {
  const selectors: QueryParts["selectors"][number][] = [];
  const grouping: string[] = [];
  const text = ({ from, to }: Node): string => query.slice(from, to);
  for (const node of nodes(parser.parse(query).topNode)) {
    if (node.type.isError) throw new Error(`not PromQL at ${node.from}: ${query}`);
    if (node.name === "GroupingLabels") {
      grouping.push(...node.getChildren("LabelName").map(text));
    }
    if (node.name !== "VectorSelector") continue;
    const name = node.getChild("Identifier");
    if (name === null) throw new Error(`a selector without a metric: ${text(node)}`);
    const matchers = node.getChild("LabelMatchers")?.getChildren("UnquotedLabelMatcher") ?? [];
    const labels = matchers.flatMap((matcher) => matcher.getChildren("LabelName").map(text));
    selectors.push({ metric: text(name), labels });
  }
  return { selectors, grouping };
}

function* nodes(node: Node): Generator<Node> {
  yield node;
  for (let child = node.firstChild; child !== null; child = child.nextSibling) yield* nodes(child);
}
