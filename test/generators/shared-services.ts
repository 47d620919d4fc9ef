import fc from "fast-check";
import type { PlannedEndpoint, VirtualService } from "../../agent/plan/virtual-service.ts";
import { virtualService } from "./services.ts";

/** A service whose clusters have shares, with endpoints in mixed order, and what part of its connections each endpoint gets. */
export interface SharedService {
  readonly service: VirtualService;
  readonly shareOf: (endpoint: PlannedEndpoint) => number;
}

const anyCluster = fc.record({
  weight: fc.integer({ min: 1, max: 100 }),
  endpoints: fc.integer({ min: 1, max: 30 }),
});

/** Two to five clusters of one to thirty endpoints. */
export const anyShared: fc.Arbitrary<SharedService> = fc
  .array(anyCluster, { minLength: 2, maxLength: 5 })
  .map((clusters) => {
    const shares = clusters.map(({ weight }, i) => ({ cluster: `c${i}`, weight }));
    const endpoints = clusters.flatMap(({ endpoints: count }, i) =>
      Array.from({ length: count }, (_, j) => ({
        // Mixed, as addresses of clusters may be.
        address: `10.${j}.0.${i}`,
        ...{ port: 8080, cluster: `c${i}` },
      })),
    );
    endpoints.sort((a, b) => (a.address < b.address ? -1 : 1));
    const whole = clusters.reduce((sum, { weight }) => sum + weight, 0);
    const shareOf = ({ cluster = "" }: PlannedEndpoint) => {
      const { weight, endpoints: count } =
        clusters[Number(cluster.slice(1))] ?? clusters[0] ?? never();
      return weight / whole / count;
    };
    return { service: virtualService({ endpoints, shares }), shareOf };
  });

function never(): never {
  throw new Error("no cluster");
}
