import { createHash } from "node:crypto";
import type { Metafile } from "esbuild";

/** What package-lock.json says of a package. */
interface LockedPackage {
  /** Absent if it is that of its folder. */
  readonly name?: string;
  readonly version: string;
  /** An SPDX identifier or expression. */
  readonly license: string;
  /** `sha512-` and the digest of the package's archive in base64. */
  readonly integrity: string;
}

/** A parsed package-lock.json: packages by folder; that of the project itself is "". */
export interface LockFile {
  readonly packages: Readonly<Record<string, LockedPackage>>;
}

/** A file and its name. */
export interface NamedFile {
  readonly name: string;
  readonly content: Buffer;
}

/** What an SBOM is about. */
export interface SbomOptions {
  /** The bundle, by the name of its program. */
  readonly program: NamedFile;
  /** esbuild's list of the files in the bundle; paths are relative to the folder of `lock`. */
  readonly metafile: Metafile;
  readonly lock: LockFile;
  /** The native parts of the package netlink. They are listed if the bundle has this package. */
  readonly native: readonly NamedFile[];
  /** The version in the package.json of a folder. A package that is not the locked one must not be listed as it. */
  readonly installed: (folder: string) => string;
}

/** The version of the format; npm writes the same one. */
const SPEC = "1.5";

/**
 * The CycloneDX SBOM of a bundle: its packages, which of them imports which, and the digests of what is installed. It depends on
 * the content only, so the same sources give the same text. Throws if a package is not the one that the lock file pins.
 */
export function sbomText(options: SbomOptions): string {
  const { program, lock, native, installed } = options;
  const imports = importsOf(options.metafile);
  const ref = (folder: string) => refOf(folder, lock);
  const component = (folder: string) => {
    const { version, license, integrity } = lockedIn(folder, lock);
    const name = nameOf(folder, lock);
    if (installed(folder) !== version) {
      throw new Error(`${folder} is ${installed(folder)}, not ${version} as in package-lock.json`);
    }
    const digest = Buffer.from(integrity.replace(/^sha512-/, ""), "base64").toString("hex");
    return {
      "bom-ref": ref(folder),
      type: "library",
      ...{ name, version, purl: ref(folder) },
      licenses: [licenseOf(license)],
      hashes: [{ alg: "SHA-512", content: digest }],
      ...(name === "netlink" && { components: native.map(fileOf) }),
    };
  };
  const { version, license } = lockedIn("", lock);
  const packages = [...imports.keys()].filter((folder) => folder !== "").sort();
  const sbom = {
    $schema: `http://cyclonedx.org/schema/bom-${SPEC}.schema.json`,
    ...{ bomFormat: "CycloneDX", specVersion: SPEC, version: 1 },
    metadata: {
      component: {
        "bom-ref": ref(""),
        ...fileOf(program),
        type: "application",
        version,
        licenses: [licenseOf(license)],
      },
    },
    components: packages.map(component),
    dependencies: ["", ...packages].map((folder) => ({
      ref: ref(folder),
      dependsOn: [...(imports.get(folder) ?? [])].map(ref).sort(),
    })),
  };
  return `${JSON.stringify(sbom, null, 2)}\n`;
}

/** The packages of a bundle, by folder, and those that each of them imports; "" is the project itself. */
function importsOf({ inputs, outputs }: Metafile): Map<string, Set<string>> {
  const contained = Object.values(outputs).flatMap(({ inputs: parts }) =>
    // Of the others nothing is left.
    Object.entries(parts).flatMap(([path, { bytesInOutput }]) => (bytesInOutput > 0 ? path : [])),
  );
  const imports = new Map([["", new Set<string>()]]);
  for (const path of contained) imports.set(folderOf(path), new Set());
  for (const path of contained) {
    const folder = folderOf(path);
    for (const { path: imported } of inputs[path]?.imports ?? []) {
      const other = folderOf(imported);
      if (other !== folder && other !== "" && imports.has(other)) imports.get(folder)?.add(other);
    }
  }
  return imports;
}

/** `node_modules/a` of a path below it; "" of the project's own files, and of what the build's plugins make. */
function folderOf(path: string): string {
  return /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? "";
}

function lockedIn(folder: string, { packages }: LockFile): LockedPackage {
  const locked = packages[folder];
  if (locked === undefined) throw new Error(`package-lock.json has no ${folder}`);
  return locked;
}

function nameOf(folder: string, lock: LockFile): string {
  return lockedIn(folder, lock).name ?? folder.slice(folder.lastIndexOf("node_modules/") + 13);
}

/** The package's URL (purl), which is also the name for references to it. */
function refOf(folder: string, lock: LockFile): string {
  const name = nameOf(folder, lock).replace(/^@/, "%40");
  return `pkg:npm/${name}@${lockedIn(folder, lock).version}`;
}

function licenseOf(license: string) {
  return license.includes(" ") ? { expression: license } : { license: { id: license } };
}

function fileOf({ name, content }: NamedFile) {
  const digest = createHash("sha256").update(content).digest("hex");
  return { type: "file", name, hashes: [{ alg: "SHA-256", content: digest }] };
}
