import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { SERVICE_IMPORTS } from "../../common/kubernetes/kinds.ts";
import { FakeClock } from "../../test/doubles/fake-clock.ts";
import { EventRecorder } from "./event-recorder.ts";

test("Events that hang, as in a webhook, occupy two connections, a bounded number waits, and those of one namespace leave room to others", async () => {
  const ends: (() => void)[] = [];
  const lost: string[] = [];
  const recorder = new EventRecorder({
    writer: {
      create: async (_resource, object) => {
        await new Promise<void>((resolve) => ends.push(resolve));
        return { meta: { key: "", uid: "", resourceVersion: "" }, object };
      },
    },
    clock: new FakeClock(),
    today: () => new Date(0),
    events: { eventLost: (object, why) => void lost.push(`${object} ${String(why)}`) },
  });
  const event = { level: "Warning", reason: "WriteRejected", message: "no" } as const;
  for (let i = 0; i < 3000; i++)
    recorder.record(SERVICE_IMPORTS, { key: `shop/web-${i}`, uid: "u" }, [event]);
  await setImmediate();
  assert.deepEqual([ends.length, lost.length], [2, 2200]);
  assert.equal(lost.at(-1), "shop/web-2999 event-queue-full");
  recorder.record(SERVICE_IMPORTS, { key: "bank/api", uid: "u" }, [event]);
  assert.equal(lost.length, 2200);
  // All that wait are created, and new ones after them.
  let created = 0;
  for (let end = ends.shift(); end !== undefined; end = ends.shift(), created++) {
    end();
    await setImmediate();
  }
  assert.equal(created, 801);
  recorder.record(SERVICE_IMPORTS, { key: "shop/new", uid: "u" }, [event]);
  await setImmediate();
  assert.equal(ends.length, 1);
  // One object has 25, and the others are counted.
  for (let i = 0; i < 30; i++)
    recorder.record(SERVICE_IMPORTS, { key: "shop/often", uid: "u" }, [event]);
  assert.deepEqual(lost.slice(2200), Array(5).fill("shop/often event-limit"));
});
