import type { VirtualService } from "../../agent/plan/virtual-service.ts";

/** Port http of demo/serve on 241.0.0.10, with one endpoint of this cluster, with changes. */
export function virtualService(change: Partial<VirtualService> = {}): VirtualService {
  const { tier = "local", endpoints = ENDPOINTS, ...rest } = change;
  return {
    importKey: "demo/serve",
    portName: "http",
    protocol: "TCP",
    port: 80,
    family: "IPv4",
    vips: ["241.0.0.10"],
    reason: "nearest-ready",
    ...rest,
    endpoints,
    // Who rejects has no tier.
    ...(endpoints.length > 0 && { tier }),
  };
}

const ENDPOINTS = [{ address: "10.1.0.1", port: 8080, cluster: "c1" }];
