import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { SERVICE_IMPORTS } from "../../common/kubernetes/kinds.ts";
import { FakeClock } from "../../test/doubles/fake-clock.ts";
import { EventRecorder } from "./event-recorder.ts";

test("Events that hang, as in a webhook, occupy two connections, and a bounded number waits", async () => {
  const ends: (() => void)[] = [];
  let left = 0;
  const recorder = new EventRecorder({
    writer: {
      create: async (_resource, object) => {
        await new Promise<void>((resolve) => ends.push(resolve));
        return { meta: { key: "", uid: "", resourceVersion: "" }, object };
      },
    },
    clock: new FakeClock(),
    today: () => new Date(0),
    events: { eventFailed: () => void left++ },
  });
  const event = { level: "Warning", reason: "WriteRejected", message: "no" } as const;
  for (let i = 0; i < 3000; i++)
    recorder.record(SERVICE_IMPORTS, { key: `shop/web-${i}`, uid: "u" }, [event]);
  await setImmediate();
  assert.deepEqual([ends.length, left], [2, 2000]);
  // All that wait are created, and new ones after them.
  let created = 0;
  for (let end = ends.shift(); end !== undefined; end = ends.shift(), created++) {
    end();
    await setImmediate();
  }
  assert.equal(created, 1000);
  recorder.record(SERVICE_IMPORTS, { key: "shop/new", uid: "u" }, [event]);
  await setImmediate();
  assert.equal(ends.length, 1);
});
