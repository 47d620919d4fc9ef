import assert from "node:assert/strict";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { parse, stringify } from "yaml";
import { JOBS } from "../../scripts/monitoring/alert.ts";
import { kubernetesCommand } from "../apiserver/commands.ts";
import { kustomize, output } from "../packages/rendered.ts";

// What the components for monitoring add to an overlay, as kubectl renders it, and what the guide tells Prometheus.

const ROOT = join(import.meta.dirname, "../..");

interface Rendered {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> };
  // biome-ignore lint/suspicious/noExplicitAny: manifests of many kinds
  readonly spec: any;
}

let directory: string;
before(() => {
  directory = mkdtempSync(join(tmpdir(), "monitoring-"));
  cpSync(join(ROOT, "deploy"), join(directory, "deploy"), { recursive: true });
});
after(() => rmSync(directory, { recursive: true, force: true }));

/** What kubectl renders of an overlay with these additions to a kustomization of one's own. */
function rendered(additions: object): Rendered[] {
  const own = join(directory, "mine");
  mkdirSync(own, { recursive: true });
  const kustomization = { resources: ["../deploy/overlays/mesh"], ...additions };
  writeFileSync(join(own, "kustomization.yaml"), stringify(kustomization));
  return kustomize(own) as unknown as Rendered[];
}

/** The DaemonSet or Deployment of this name. */
function workloadOf(objects: readonly Rendered[], name: string): Rendered {
  const named = objects.filter(({ metadata }) => metadata.name === name);
  return named.find(({ kind }) => /^(DaemonSet|Deployment)$/.test(kind)) ?? assert.fail(name);
}

/** The guide's block of YAML that has this line. */
function block(line: string): string {
  const guide = readFileSync(join(ROOT, "docs/guides/monitoring.md"), "utf8");
  const found = [...guide.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, text = ""]) => text);
  const one = found.find((text) => text.includes(line));
  assert.ok(one, line);
  return one;
}

test("with the guide's kustomization, PodMonitors select the pods and ports of both programs, and carry the label", () => {
  const { components, patches } = parse(block("components/monitoring"));
  const objects = rendered({ components, patches });
  const monitors = objects.filter(({ kind }) => kind === "PodMonitor");
  const names = monitors.map(({ metadata }) => metadata.name);
  assert.deepEqual(names.toSorted(), [JOBS.agent, JOBS.controller]);
  for (const { metadata, spec } of monitors) {
    const { template } = workloadOf(objects, metadata.name).spec;
    const [[key, value] = ["", ""], ...more] = Object.entries(spec.selector.matchLabels);
    assert.deepEqual(more, []);
    assert.equal(template.metadata.labels[key], value);
    // The label "job" of the series.
    assert.equal(template.metadata.labels[spec.jobLabel], metadata.name);
    const [{ ports, env }] = template.spec.containers;
    const [endpoint] = spec.podMetricsEndpoints;
    const port = ports.find(({ name }: { name: string }) => name === endpoint.port);
    const [address] = env.filter(({ name }: { name: string }) => name.endsWith("HTTP_ADDRESS"));
    const addresses = ["0.0.0.0", "$(HOST_IP)"].map((host) => `${host}:${port.containerPort}`);
    assert.ok(addresses.includes(address.value), address.value);
    assert.equal(metadata.labels?.release, "kube-prometheus-stack");
  }
  const rule = objects.find(({ kind }) => kind === "PrometheusRule");
  assert.equal(rule?.metadata.labels?.release, "kube-prometheus-stack");
});

test("the annotations for a Prometheus without its operator name the ports that are served", () => {
  const objects = rendered({ components: ["../deploy/components/scrape"] });
  for (const name of Object.values(JOBS)) {
    const { template } = workloadOf(objects, name).spec;
    const [{ ports }] = template.spec.containers;
    assert.partialDeepStrictEqual(template.metadata.annotations, {
      "prometheus.io/scrape": "true",
      "prometheus.io/port": String(ports[0].containerPort),
      "prometheus.io/path": "/metrics",
    });
  }
});

test("promtool finds no fault in the guide's configuration, with the rules file", () => {
  const config = join(directory, "prometheus.yaml");
  writeFileSync(config, block("rule_files"));
  cpSync(join(ROOT, "deploy/monitoring/rules.yaml"), join(directory, "rules.yaml"));
  // Debian builds Prometheus without the discovery of Kubernetes.
  const known = parse(readFileSync(config, "utf8"));
  for (const one of known.scrape_configs) {
    assert.deepEqual(one.kubernetes_sd_configs, [
      { role: "pod", namespaces: { names: ["clusterset-proxy"] } },
    ]);
    delete one.kubernetes_sd_configs;
  }
  writeFileSync(config, stringify(known));
  const said = output(kubernetesCommand("promtool"), ["check", "config", config]);
  assert.match(said, /SUCCESS: .*prometheus\.yaml is valid/);
});

test("the dashboards fit into a ConfigMap that kubectl apply takes", () => {
  const own = join(directory, "deploy/monitoring");
  const text = output(kubernetesCommand("kubectl"), ["kustomize", own]);
  const { kind, metadata, data } = parse(text);
  assert.deepEqual([kind, metadata.labels], ["ConfigMap", { grafana_dashboard: "1" }]);
  assert.equal(Object.keys(data).length, 4);
  // The annotation of kubectl apply, which holds the whole object, has a limit of 256 KiB.
  assert.ok(text.length < 200_000, `${text.length}`);
});
