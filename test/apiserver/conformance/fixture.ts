import {
  type CaseCluster,
  type CaseStage,
  type ServedPort,
  ServiceCase,
  type ServiceSpec,
} from "../service-case.ts";

/** Ports of the suite's Service. */
export const PORTS: readonly ServedPort[] = [
  { name: "tcp", port: 42, protocol: "TCP" },
  { name: "udp", port: 42, protocol: "UDP" },
];

/** The suite's Service. */
export const HELLO: ServiceSpec = {
  ports: PORTS,
  sessionAffinity: "ClientIP",
  sessionAffinityConfig: { clientIP: { timeoutSeconds: 10 } },
  ipFamilyPolicy: "PreferDualStack",
};

/** Labels and annotations of the Service itself: never exported. */
const METADATA = {
  labels: { dummy: "label" },
  annotations: { "example.com/dummy": "annotation" },
};

/** The suite's Service in a cluster (`cluster-1`: 10.1.0.7 and fd00:10:1::7), with its pod's slices; not exported yet. */
export async function hello(
  story: ServiceCase,
  id: string,
  spec: ServiceSpec = HELLO,
): Promise<void> {
  const { ports = PORTS } = spec;
  const number = id.replace("cluster-", "");
  await story.serve(id, spec, METADATA);
  for (const address of [`10.${number}.0.7`, `fd00:10:${number}::7`]) {
    await story.slice(id, [{ addresses: [address], conditions: { ready: true } }], ports);
  }
}

/** A case with the Service in cluster-1, exported from there. */
export async function exported<Cluster extends CaseCluster>(
  stage: CaseStage<Cluster>,
  spec: ServiceSpec = HELLO,
  exporting: object = {},
): Promise<ServiceCase<Cluster>> {
  const story = await ServiceCase.open(stage);
  await hello(story, "cluster-1", spec);
  await story.export("cluster-1", exporting);
  return story;
}

/** As `exported`; then cluster-2 exports a younger Service of the same name. */
export async function exportedTwice(
  stage: CaseStage,
  younger: ServiceSpec = HELLO,
  exporting: readonly [object, object] = [{}, {}],
): Promise<ServiceCase> {
  const story = await exported(stage, HELLO, exporting[0]);
  await story.untilImported("cluster-1", () => {});
  await story.grow();
  await hello(story, "cluster-2", younger);
  await story.export("cluster-2", exporting[1]);
  return story;
}

/** A port as an import shows it, as words. */
export function portText({ name, port, protocol }: ServedPort): string {
  return `${name} ${port}/${protocol}`;
}
