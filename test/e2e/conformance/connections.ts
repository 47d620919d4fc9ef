import assert from "node:assert/strict";
import { before, test } from "node:test";
import { portText } from "../../apiserver/conformance/cases.ts";
import { type CaseStage, ServiceCase } from "../../apiserver/service-case.ts";
import {
  type AskingCluster,
  nameOf,
  type Story,
  served,
  servedAt,
  untilAddressed,
  untilEndpoints,
} from "./served.ts";

const HERE = "cluster-1";
const THERE = "cluster-2";

/**
 * Cases of the suite in which pods of both clusters connect to a name of the clusterset: by both families, ten times each address. One
 * Service and its pods go through all of them, in this order.
 */
export function connectionCases(stage: () => CaseStage<AskingCluster>): void {
  let story: Story;
  before(async () => {
    story = await ServiceCase.open(stage());
    await Promise.all(story.clusters.map((id) => served(story, id)));
    for (const id of story.clusters) await untilOwn(story, id);
  });

  test("C14 (required), with connections: the name of a Service without an export gets no response", async () => {
    await story.settle(HERE);
    for (const id of story.clusters) {
      const said = await answerers(story, id, `tcp://${nameOf(story)}:42`, 3);
      assert.ok(story.clusters.every((one) => !said.includes(one)));
      await story.until(id, async () => {
        const found = await story.in(id).resolve(`A:${nameOf(story)}`, `AAAA:${nameOf(story)}`);
        for (const { error } of found) assert.equal(error, "ENOTFOUND");
      });
    }
  });

  test("C18 (optional): clients in every cluster can connect to an exported Service by its name, with TCP and UDP", async () => {
    await story.export(HERE);
    for (const id of story.clusters) {
      await story.until(id, async () => {
        const named = await answerers(story, id, `tcp://${nameOf(story)}:42`, 3);
        assert.deepEqual(named, [HERE], "the name itself, as programs use it");
      });
      await untilAnswered(story, id, "udp", 42, [HERE]);
    }
  });

  test("C19 (optional): only pods of the cluster that exports answer, in the other one as well", async () => {
    for (const id of story.clusters) {
      await untilEndpoints(story, id, 1);
      await untilAnswered(story, id, "tcp", 42, [HERE]);
      await untilOwn(story, id);
    }
  });

  test("C20 (optional): a port with another number than the older export's gets no connection", async () => {
    await servedAt(story, THERE, [{ name: "tcp", port: 4242, protocol: "TCP" }]);
    await story.grow();
    await story.export(THERE);
    for (const id of story.clusters) {
      await story.untilCondition(id, "Conflict", "True PortConflict");
      await untilPorts(story, id, ["tcp 42/TCP", "udp 42/UDP"]);
      await untilAnswered(story, id, "tcp", 42, [HERE]);
      await untilAnswered(story, id, "tcp", 4242, ["refused"]);
    }
  });

  test("C21 (optional): connections to a port that one cluster exposes reach only that cluster", async () => {
    await servedAt(story, THERE, [{ name: "tcp2", port: 4242, protocol: "TCP" }]);
    for (const id of story.clusters) {
      await untilPorts(story, id, ["tcp 42/TCP", "tcp2 4242/TCP", "udp 42/UDP"]);
      await untilAnswered(story, id, "tcp", 42, [HERE]);
      await untilAnswered(story, id, "tcp", 4242, [THERE]);
    }
  });
}

/** Waits until an import is of both clusters, and has these ports. */
async function untilPorts(story: Story, id: string, expected: readonly string[]): Promise<void> {
  await story.untilImported(id, ({ spec, status }) => {
    assert.equal(status?.clusters?.length, 2);
    assert.deepEqual(spec.ports.map(portText).sort(), expected);
  });
}

/** Waits until a cluster's own pod answers by the cluster's own name: it is there, and would answer by others. */
async function untilOwn(story: Story, id: string): Promise<void> {
  const target = `tcp://${nameOf(story, "cluster.local")}:42`;
  await story.until(id, async () => assert.deepEqual(await answerers(story, id, target, 1), [id]));
}

/** Waits until every one of ten connections to each address of the import is answered, and by these. */
async function untilAnswered(
  story: Story,
  id: string,
  protocol: "tcp" | "udp",
  port: number,
  expected: readonly string[],
): Promise<void> {
  const { spec } = await untilAddressed(story, id);
  for (const ip of spec.ips ?? []) {
    const target = `${protocol}://${ip.includes(":") ? `[${ip}]` : ip}:${port}`;
    await story.until(id, async () => {
      assert.deepEqual(await answerers(story, id, target), expected, `${target} from ${id}`);
    });
  }
}

/** Pods that respond to a cluster's client, and errors of other connections: each once, sorted. */
async function answerers(story: Story, id: string, target: string, count = 10): Promise<string[]> {
  return [...new Set(await story.in(id).answers(target, count))].sort();
}
