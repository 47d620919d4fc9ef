import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import {
  importText,
  ManifestsStage,
  sliceText,
  unprivileged,
} from "../../../test/stages/manifests-stage.ts";
import { type FileState, MOST_BYTES } from "./file-state.ts";
import { RETRY_MS, UNREAD_MS } from "./manifests-source.ts";
import { mistake } from "./mistake.ts";
import { type FileEvent, REST_MS, type Settling, settle } from "./settling.ts";

describe("the first listing", () => {
  it("reports every object, then listed, once", async () => {
    using stage = new ManifestsStage();
    stage.place("a.yaml", `${importText("serve")}---\n${sliceText("serve-x")}`);
    stage.place("b.json", JSON.stringify({ apiVersion: "v1", kind: "List", items: [] }));
    await stage.start();
    assert.deepEqual(stage.told.news(), ["import demo/serve", "slice demo/serve-x", "listed"]);
    stage.place("c.yml", importText("other"));
    await stage.settle();
    assert.deepEqual(stage.told.news(), ["import demo/other"]);
  });

  it("waits for a missing directory, and logs that once", async () => {
    using stage = new ManifestsStage();
    fs.rmSync(stage.directory, { recursive: true });
    await stage.start();
    for (let i = 0; i < 5; i++) await stage.wait(RETRY_MS);
    assert.deepEqual(stage.told.news(), []);
    assert.deepEqual(stage.logged(), ["warn unreadable /manifests"]);
    assert.deepEqual(
      stage.source.brokenFiles().map(({ file, detail }) => [file, detail]),
      [[stage.directory, "ENOENT"]],
    );
    fs.mkdirSync(stage.directory);
    stage.place("a.yaml", importText("serve"));
    await stage.wait(RETRY_MS);
    assert.deepEqual(stage.told.news(), ["import demo/serve", "listed"]);
    assert.deepEqual(stage.source.brokenFiles(), []);
  });

  it("waits for a file that cannot be read, and for one that is being written", async () => {
    using stage = new ManifestsStage();
    stage.place("a.yaml", importText("serve"));
    fs.symlinkSync("nowhere", stage.path("b.yaml"));
    stage.rewrite("c.yaml", "");
    await stage.start();
    assert.deepEqual(stage.told.news(), ["import demo/serve"]);
    fs.rmSync(stage.path("b.yaml"));
    stage.place("b.yaml", importText("other"));
    await stage.wait(0);
    assert.deepEqual(stage.told.news(), ["import demo/other"]);
    await stage.wait(REST_MS);
    assert.deepEqual(stage.told.news(), ["listed"]);
    assert.deepEqual(stage.logged(), ["warn empty c.yaml"]);
  });

  it("waits for a minute at most for a file that cannot be read, and says so", async () => {
    using stage = new ManifestsStage();
    stage.place("a.yaml", importText("serve"));
    fs.symlinkSync("nowhere", stage.path("b.yaml"));
    await stage.start();
    for (let passed = 0; passed < UNREAD_MS - RETRY_MS; passed += RETRY_MS) {
      await stage.wait(RETRY_MS);
    }
    assert.deepEqual(stage.told.news(), ["import demo/serve"]);
    assert.deepEqual(stage.logged(), ["warn unreadable b.yaml"]);
    await stage.wait(RETRY_MS);
    assert.deepEqual(stage.told.news(), ["listed"]);
    assert.deepEqual(stage.logged(), ["warn unreadable b.yaml"]);
  });

  it("is not delayed by an invalid file", async () => {
    using stage = new ManifestsStage();
    stage.place("a.yaml", "a: [");
    stage.place("b.yaml", importText("serve"));
    await stage.start();
    assert.deepEqual(stage.told.news(), ["import demo/serve", "listed"]);
    assert.deepEqual(stage.logged(), ["warn syntax-error a.yaml:1:5"]);
  });
});

describe("a file that changes", () => {
  it("is reported immediately after an atomic replacement, and only the differences", async () => {
    using stage = await ManifestsStage.of({
      "a.yaml": `${importText("serve")}---\n${sliceText("x")}---\n${sliceText("y")}`,
    });
    stage.clock.advance(7);
    stage.place(
      "a.yaml",
      `${importText("serve")}---\n${sliceText("y", "10.0.0.2")}---\n${sliceText("z")}`,
    );
    await stage.look();
    assert.deepEqual(stage.told.news(), ["no slice demo/x", "slice demo/y", "slice demo/z"]);
    assert.equal(stage.told.at, 7);
  });

  it("is read only once it is unchanged for a while if it was written in place: half of it is never read", async () => {
    using stage = new ManifestsStage();
    const whole = `${importText("serve")}---\n${sliceText("x", "10.0.0.2")}`;
    stage.place("a.yaml", `${importText("serve")}---\n${sliceText("x")}`);
    await stage.start();
    stage.told.news();
    for (const half of ["", importText("serve"), `${importText("serve")}---\n`]) {
      stage.rewrite("a.yaml", half);
      await stage.wait(REST_MS - 1);
    }
    assert.deepEqual(stage.told.news(), []);
    stage.rewrite("a.yaml", whole);
    await stage.wait(REST_MS - 1);
    assert.deepEqual(stage.told.news(), []);
    await stage.wait(1);
    assert.deepEqual(stage.told.news(), ["slice demo/x"]);
    assert.equal(stage.told.slices.get("demo/x")?.endpoints.at(0)?.address, "10.0.0.2");
  });

  it("is found after an event without a name", async () => {
    using stage = await ManifestsStage.of({});
    stage.deaf = true;
    stage.place("a.yaml", importText("a"));
    stage.deaf = false;
    stage.raise("renamed", null);
    await stage.look();
    assert.deepEqual(stage.told.news(), ["import demo/a"]);
  });

  it("is found after a storm of events, of which some were lost", async () => {
    using stage = new ManifestsStage();
    await stage.start();
    stage.deaf = true;
    stage.place("lost.yaml", importText("lost"));
    stage.deaf = false;
    for (let i = 0; i <= 1000; i++) stage.raise("renamed", `${i}.yaml`);
    await stage.look();
    assert.deepEqual(stage.told.news(), ["listed", "import demo/lost"]);
  });

  it("is found without an event though its size and time of modification are as before", async () => {
    using stage = await ManifestsStage.of({});
    for (const vip of ["241.0.0.1", "241.0.0.2"]) {
      // The file system's clock moves in ticks of up to 10 ms.
      await sleep(20);
      fs.writeFileSync(stage.path("a.yaml"), importText("a", vip));
      fs.utimesSync(stage.path("a.yaml"), 1, 1);
      await stage.settle();
      assert.deepEqual(stage.told.news(), ["import demo/a"]);
    }
  });

  it("is read again after an event though stat shows no difference", async () => {
    using stage = new ManifestsStage();
    const seen: string[] = [];
    stage.place("a.yaml", importText("serve", "241.0.0.1"));
    await stage.start();
    // Replaced twice within one tick of the file system's clock, the second time with the first inode.
    for (let i = 1; i <= 9; i++) {
      stage.deaf = true;
      stage.place("a.yaml", importText("serve", "241.0.0.9"));
      stage.deaf = false;
      stage.place("a.yaml", importText("serve", `241.0.1.${i}`));
      await stage.look();
      await stage.wait(REST_MS);
      seen.push(stage.told.imports.get("demo/serve")?.vips[0]?.text ?? "");
    }
    assert.deepEqual(
      seen,
      Array.from({ length: 9 }, (_, i) => `241.0.1.${i + 1}`),
    );
  });
});

function writeLarge(path: string): void {
  fs.writeFileSync(path, "");
  fs.truncateSync(path, MOST_BYTES + 1);
}

describe("properties of the cluster", () => {
  const property = (name: string, value: string) =>
    JSON.stringify({
      apiVersion: "about.k8s.io/v1beta1",
      kind: "ClusterProperty",
      metadata: { name },
      spec: { value },
    });

  it("are reported all together, whenever one of them changes or is removed, and before listed", async () => {
    using stage = new ManifestsStage();
    stage.place("a.json", property("continent", "europe"));
    stage.place("b.json", property("env", "test"));
    await stage.start();
    assert.deepEqual(stage.told.news(), ["properties", "properties", "listed"]);
    const told = Object.fromEntries(stage.told.properties);
    assert.deepEqual(told, { continent: "europe", env: "test" });
    stage.place("b.json", property("env", "live"));
    await stage.settle();
    assert.deepEqual(stage.told.news(), ["properties"]);
    assert.equal(stage.told.properties.get("env"), "live");
    stage.place("b.json", "{}");
    stage.place("a.json", property("continent", "europe"));
    await stage.settle();
    assert.deepEqual([...stage.told.properties], [["continent", "europe"]]);
  });
});

describe("stop", () => {
  it("reports nothing after stop", async () => {
    using stage = await ManifestsStage.of({});
    stage.place("a.yaml", importText("a"));
    await stage.source.stop();
    assert.equal(stage.clock.pending, 0);
    await stage.settle();
    assert.deepEqual(stage.told.news(), []);
  });
});

describe("a broken file", () => {
  it("keeps its last valid content, is logged once, and recovers", async () => {
    using stage = await ManifestsStage.of({ "a.yaml": importText("serve") });
    stage.place("a.yaml", `${importText("serve", "241.0.0.2")}  oops\n`);
    await stage.settle();
    assert.deepEqual(stage.told.news(), []);
    assert.deepEqual(stage.logged(), ["warn syntax-error a.yaml:5:1"]);
    assert.equal(stage.source.brokenFiles().length, 1);
    stage.place("a.yaml", "a: *b");
    await stage.settle();
    assert.deepEqual(stage.logged(), ["warn syntax-error a.yaml:1:4"]);
    stage.place("a.yaml", importText("serve", "241.0.0.2"));
    await stage.look();
    assert.deepEqual(stage.told.news(), ["import demo/serve"]);
    assert.deepEqual(stage.logged(), ["info syntax-error a.yaml"]);
    assert.deepEqual(stage.source.brokenFiles(), []);
  });

  for (const [what, make, fault] of [
    ["a FIFO", (path) => execFileSync("mkfifo", [path]), "not-a-file"],
    ["a directory", (path) => fs.mkdirSync(path), "not-a-file"],
    ["a circular link", (path) => fs.symlinkSync("a.yaml", path), "unreadable"],
    ["a file of more than 32 MiB", (path) => writeLarge(path), "too-large"],
  ] satisfies [string, (path: string) => void, string][]) {
    it(`may be ${what}: others are read, and nothing stays open`, async () => {
      using stage = await ManifestsStage.of({ "b.yaml": importText("b") });
      const open = fs.readdirSync("/proc/self/fd").length;
      make(stage.path("a.yaml"));
      await stage.settle();
      assert.deepEqual(stage.logged(), [`warn ${fault} a.yaml`]);
      stage.place("b.yaml", importText("b", "241.0.0.2"));
      await stage.look();
      assert.deepEqual(stage.told.news(), ["import demo/b"]);
      assert.equal(fs.readdirSync("/proc/self/fd").length, open);
    });
  }

  it("is read again when it becomes readable, even without an event", async () => {
    using stage = new ManifestsStage();
    stage.place("a.yaml", importText("serve"));
    fs.chmodSync(stage.root, 0o755);
    fs.chmodSync(stage.directory, 0o755);
    fs.chmodSync(stage.path("a.yaml"), 0);
    await unprivileged(() => stage.start());
    await unprivileged(() => stage.wait(UNREAD_MS));
    assert.deepEqual(stage.told.news(), ["listed"]);
    assert.deepEqual(stage.logged(), ["warn unreadable a.yaml", "warn unreadable a.yaml"]);
    await unprivileged(() => stage.settle());
    assert.deepEqual(stage.logged(), []);
    // As root, if it is root that runs the tests: nothing about the file itself has changed.
    if (process.geteuid?.() !== 0) fs.chmodSync(stage.path("a.yaml"), 0o444);
    await stage.settle();
    assert.deepEqual(stage.told.news(), ["import demo/serve"]);
    assert.deepEqual(stage.logged(), ["info unreadable a.yaml"]);
  });
});

const file = (inode: string, version = "1", size = 9): FileState => {
  return { kind: "file", inode, version, size };
};
const GONE: FileState = { kind: "gone" };
const BAD: FileState = { kind: "fault", mistake: mistake("unreadable", "EACCES") };

/** The step of each of several checks, one every `ms` milliseconds. */
function steps(ms: number, ...checks: readonly [state: FileState, event?: FileEvent][]): string[] {
  let settling: Settling = { known: file("a") };
  return checks.map(([state, event], i) => {
    const { step, after } = settle(settling, state, event, i * ms);
    settling = after;
    return step;
  });
}

describe("settle", () => {
  const cases: [string, number, Parameters<typeof steps>[1][], string[]][] = [
    ["leaves alone what is the same", 1, [[file("a")], [file("a")]], ["nothing", "nothing"]],
    ["takes another file at once though no event told of it", 1, [[file("b")]], ["take"]],
    [
      "lets a file rest that was written to, even if it looks the same",
      REST_MS,
      [[file("a"), "modified"], [file("a"), "modified"], [file("a")]],
      ["wait", "wait", "take"],
    ],
    [
      "lets another file rest if it was written to under this name",
      REST_MS,
      [[file("b"), "modified"], [file("b")]],
      ["wait", "take"],
    ],
    [
      "counts a rest from its beginning, however often it looks",
      REST_MS / 2,
      [[file("a", "2")], [file("a", "2")], [file("a", "2")]],
      ["wait", "wait", "take"],
    ],
    ["lets a missing file rest", REST_MS, [[GONE], [GONE], [GONE]], ["wait", "take", "nothing"]],
    [
      "lets a file rest that came after a moment without any",
      REST_MS,
      [[GONE], [file("b")], [file("b")]],
      ["wait", "wait", "take"],
    ],
    ["lets a fault rest", REST_MS, [[BAD], [BAD], [BAD]], ["wait", "take", "nothing"]],
    [
      "takes another file at once though the one before is still resting",
      1,
      [
        [file("a", "2"), "modified"],
        [file("b"), "renamed"],
      ],
      ["wait", "take"],
    ],
    [
      "forgets the rest of what is as it was again",
      1,
      [[GONE], [file("a")], [GONE]],
      ["wait", "nothing", "wait"],
    ],
  ];
  for (const [what, ms, looks, expected] of cases) {
    it(what, () => {
      const done = steps(ms, ...looks);
      // A name that is taken as gone is forgotten by the caller; here it stays known as gone.
      assert.deepEqual(done, expected);
    });
  }

  it("ignores a name that never existed", () => {
    assert.deepEqual(settle({}, GONE, "renamed", 0), { step: "nothing", after: {} });
  });
});
