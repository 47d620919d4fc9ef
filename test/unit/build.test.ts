import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { after, before, describe, type TestContext, test } from "node:test";
import type { Metafile } from "esbuild";
import packageJson from "../../package.json" with { type: "json" };
import { buildProgram, bundle, copyNative } from "../../scripts/build/bundle.ts";
import { type LockFile, type SbomOptions, sbomText } from "../../scripts/build/sbom.ts";

const root = join(import.meta.dirname, "../..");

/** A folder of its own, far from the tree and its node_modules. */
function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), "clusterset-proxy-build-"));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** Runs a bundle from the folder that it is in; gives what it printed, if it ended well. */
function output(cwd: string, ...args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd, encoding: "utf8" });
  assert.equal(status, 0, stderr);
  return stdout;
}

for (const program of ["agent", "controller"]) {
  test(`the bundled ${program} runs outside of the tree, and prints its version`, async (t) => {
    const out = folder(t);
    const file = `${program}.mjs`;
    await bundle(join(root, `${program}/main.ts`), join(out, file));
    const { versions } = process;
    const version = `clusterset-${program} ${packageJson.version} (Node ${versions.node})\n`;
    assert.equal(output(out, file, "version"), version);
    // Of package.json, ours or that of a dependency, nothing else.
    assert.doesNotMatch(readFileSync(join(out, file), "utf8"), /["']?devDependencies["']?:/);
    if (program === "controller") return;
    const plan = JSON.parse(output(out, file, "plan", "--manifests", "."));
    assert.deepEqual(plan, { imports: [] });
  });
}

test("a bundle does not load undici, which it does not use", async (t) => {
  const out = folder(t);
  await bundle(join(root, "common/http.ts"), join(out, "http.mjs"));
  const loaded = 'import("./http.mjs").then(() => console.log(process.moduleLoadList.join("\\n")))';
  const modules = output(out, "--eval", loaded);
  assert.match(modules, /NativeModule http$/m);
  assert.doesNotMatch(modules, /undici/);
});

test("a bundle is ASCII, so that V8 stores it with one byte per character, and prints the same text", async (t) => {
  const out = folder(t);
  const source = '/** @license – */ export const [plain, made] = ["–", `→`];\n';
  writeFileSync(join(out, "source.mjs"), source);
  await bundle(join(out, "source.mjs"), join(out, "bundled.mjs"));
  assert.ok(readFileSync(join(out, "bundled.mjs")).every((byte) => byte < 0x80));
  const printed = 'import("./bundled.mjs").then(({ plain, made }) => console.log(plain + made))';
  assert.equal(output(out, "--eval", printed), "–→\n");
});

test("a build stops at a native part of netlink that is not the reviewed one", (t) => {
  const netlink = folder(t);
  for (const architecture of ["x64", "arm64"]) {
    const prebuilt = join(netlink, "prebuilds", `linux-${architecture}`);
    mkdirSync(prebuilt, { recursive: true });
    writeFileSync(join(prebuilt, "node.napi.node"), "other");
  }
  assert.throws(
    () => copyNative(folder(t), netlink),
    /linux-x64\/node\.napi\.node has SHA-256 d9298a10/,
  );
});

test("a bundle loads netlink's native part from its own directory", async (t) => {
  const out = folder(t);
  await bundle(join(root, "test/packages/open-netlink.ts"), join(out, "netlink.mjs"));
  assert.deepEqual(
    copyNative(out).map((path) => basename(path)),
    ["netlink-linux-x64.node", "netlink-linux-arm64.node"],
  );
  assert.equal(output(out, "netlink.mjs", "netfilter"), "open\n");
});

test("npm ci accepts package-lock.json: each package that it names is pinned by a digest", () => {
  // A registry may lack the binaries of some platforms: npm then writes their names into the lock, and nothing else of them.
  const packages: Record<string, { integrity?: string; optionalDependencies?: object }> =
    JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")).packages;
  for (const [path, { integrity, optionalDependencies = {} }] of Object.entries(packages)) {
    if (path !== "") assert.match(integrity ?? "", /^sha512-/, path);
    for (const name of Object.keys(optionalDependencies)) {
      const places = [`${path}/node_modules/${name}`, `node_modules/${name}`];
      const pinned = places.some((place) => place in packages);
      assert.ok(pinned, `delete the name ${name} from package-lock.json, at ${path}`);
    }
  }
});

/** What we read of a CycloneDX document. */
interface Sbom {
  readonly bomFormat: string;
  readonly specVersion: string;
  readonly version: number;
  readonly metadata: { readonly component: Component };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

interface Component {
  readonly "bom-ref"?: string;
  readonly type: string;
  readonly name: string;
  readonly version?: string;
  readonly purl?: string;
  readonly licenses?: readonly (
    | { readonly license: { readonly id: string } }
    | { readonly expression: string }
  )[];
  readonly hashes: readonly { readonly alg: string; readonly content: string }[];
  readonly components?: readonly Component[];
}

const LOCK: LockFile = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8"));

for (const program of ["agent", "controller"] as const) {
  describe(`the SBOM of the ${program}`, () => {
    let folder: string;
    let bundle: string;
    let sbom: Sbom;

    before(async () => {
      folder = mkdtempSync(join(tmpdir(), "clusterset-proxy-sbom-"));
      const [file = "", path = ""] = await buildProgram(program, folder);
      bundle = readFileSync(file, "utf8");
      sbom = JSON.parse(readFileSync(path, "utf8"));
    });
    after(() => rmSync(folder, { recursive: true }));

    test("lists the packages whose files are in the bundle, and no others", () => {
      // esbuild writes the path of each file above its text.
      const comments = bundle.matchAll(/^ *\/\/ (node_modules\/(?:@[^/\n]+\/)?[^/\n]+)\//gm);
      const folders = new Set([...comments].map(([, path = ""]) => path));
      const names = [...folders].map((path) => LOCK.packages[path]?.name ?? path.slice(13));
      assert.ok(names.length > 20);
      assert.deepEqual(sbom.components.map(({ name }) => name).sort(), names.sort());
    });

    test("has version, URL, license and the lock file's digest of each", () => {
      for (const { name, version, purl, licenses, hashes } of sbom.components) {
        const [path, locked] =
          Object.entries(LOCK.packages).find(
            ([at, one]) => (one.name ?? at.slice(13)) === name && one.version === version,
          ) ?? assert.fail(name);
        const installed = JSON.parse(readFileSync(join(root, path, "package.json"), "utf8"));
        assert.deepEqual([installed.name, installed.version], [name, version]);
        assert.equal(purl, `pkg:npm/${name.replace("@", "%40")}@${version}`);
        assert.deepEqual(licenses, [{ license: { id: locked.license } }]);
        const [{ alg, content } = assert.fail(name)] = hashes;
        assert.equal(alg, "SHA-512");
        const digest = Buffer.from(content, "hex").toString("base64");
        assert.equal(`sha512-${digest}`, locked.integrity, name);
      }
    });

    test("has the digests of the bundle, and of netlink's native parts if it has netlink", () => {
      const { hashes, type } = sbom.metadata.component;
      assert.deepEqual([type, hashes], ["application", [sha256(Buffer.from(bundle))]]);
      const parts = sbom.components.flatMap(({ components = [] }) => components);
      const copies = program === "agent" ? copyNative(folder) : [];
      const files = copies.map((path) => {
        return { type: "file", name: basename(path), hashes: [sha256(readFileSync(path))] };
      });
      assert.deepEqual(parts, files);
    });

    test("is a CycloneDX document: references are unique and refer to its components", () => {
      assert.deepEqual([sbom.bomFormat, sbom.specVersion, sbom.version], ["CycloneDX", "1.5", 1]);
      const all = [sbom.metadata.component, ...sbom.components];
      const refs = all.map((one) => one["bom-ref"] ?? assert.fail(one.name));
      assert.equal(new Set(refs).size, refs.length);
      assert.equal(sbom.dependencies.map(({ ref }) => ref).join(), refs.join());
      const imported = new Set(sbom.dependencies.flatMap(({ dependsOn }) => dependsOn));
      // Each is there because something imports it.
      assert.deepEqual([...imported].sort(), refs.slice(1).sort());
    });
  });
}

function sha256(content: Buffer) {
  return { alg: "SHA-256", content: createHash("sha256").update(content).digest("hex") };
}

/** A bundle of one file of ours, which imports a package of which something is left and one of which nothing is. */
const METAFILE = {
  inputs: {
    "a.ts": {
      imports: [{ path: "node_modules/@x/used/i.js" }, { path: "node_modules/unused/i.js" }],
    },
    "node_modules/@x/used/i.js": { imports: [] },
    "node_modules/unused/i.js": { imports: [] },
  },
  outputs: {
    "out.mjs": {
      inputs: {
        "a.ts": { bytesInOutput: 9 },
        "node_modules/@x/used/i.js": { bytesInOutput: 9 },
        "node_modules/unused/i.js": { bytesInOutput: 0 },
      },
    },
  },
} as unknown as Metafile;
const OF_LOCK = { version: "1.2.3", license: "MIT OR Apache-2.0", integrity: "sha512-AAEC" };
const OPTIONS: SbomOptions = {
  program: { name: "p", content: Buffer.from("text") },
  metafile: METAFILE,
  lock: { packages: { "": { ...OF_LOCK, name: "project" }, "node_modules/@x/used": OF_LOCK } },
  native: [],
  installed: () => "1.2.3",
};

test("a package of which nothing is left in the bundle is not listed; several licenses are an expression", () => {
  const { components, dependencies }: Sbom = JSON.parse(sbomText(OPTIONS));
  const ref = "pkg:npm/%40x/used@1.2.3";
  assert.deepEqual(components, [
    {
      ...{ "bom-ref": ref, type: "library", name: "@x/used", version: "1.2.3", purl: ref },
      licenses: [{ expression: "MIT OR Apache-2.0" }],
      hashes: [{ alg: "SHA-512", content: "000102" }],
    },
  ]);
  assert.deepEqual(dependencies, [
    { ref: "pkg:npm/project@1.2.3", dependsOn: [ref] },
    { ref, dependsOn: [] },
  ]);
});

test("a build stops if the installed package is not the one of the lock file", () => {
  assert.throws(
    () => sbomText({ ...OPTIONS, installed: () => "1.2.4" }),
    /node_modules\/@x\/used is 1\.2\.4, not 1\.2\.3 as in package-lock\.json/,
  );
});
