import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import * as fs from "node:fs";
import { promisify } from "node:util";
import { CACHE } from "../lab/removal.ts";
import { unpackDebian } from "./debian.ts";
import { makeDisk } from "./disk.ts";

/** A system that can be booted: three files, which are never changed. */
export interface System {
  readonly kernel: string;
  /** The initial RAM disk: what the kernel needs to see a disk at all. */
  readonly initrd: string;
  /** The root disk: Debian, all modules of its kernel, and Node. */
  readonly root: string;
}

/** What the agent and the tests run, of Debian's own; an agent's image has these, too. */
const PACKAGES = [
  ...["iproute2", "iptables", "nftables", "ipset", "ipvsadm", "conntrack", "kmod"],
  // For clients, servers and reading what is going on. Node has no SCTP: socat has.
  ...["busybox-static", "curl", "procps", "socat", "util-linux"],
];

/** Modules that the kernel needs to see its disks, in order. Others are on them; ext4 is in the kernel itself. */
const MODULES = [
  ...["virtio_ring", "virtio", "virtio_pci_modern_dev", "virtio_pci_legacy_dev", "virtio_pci"],
  ...["virtio_blk", "virtio_console"],
];

const GUEST = `${import.meta.dirname}/guest`;
const exec = promisify(execFile);

/** The system of the guest. Makes it of Debian's packages if it is not there yet, in half a minute. */
export async function guestSystem(): Promise<System> {
  const folder = `${CACHE}/vm-bookworm/${recipe()}`;
  if (!fs.existsSync(folder)) {
    console.error("vm: making the disk of the virtual machine; half a minute the first time");
    const unfinished = `${CACHE}/vm-bookworm/unfinished-${process.pid}`;
    fs.mkdirSync(unfinished, { recursive: true });
    try {
      await make(unfinished);
      // Somebody else may have been as fast.
      if (!fs.existsSync(folder)) fs.renameSync(unfinished, folder);
    } finally {
      fs.rmSync(unfinished, { recursive: true, force: true });
    }
  }
  return { kernel: `${folder}/kernel`, initrd: `${folder}/initrd`, root: `${folder}/root.ext4` };
}

/** Changes with all that goes into the system but the versions of packages: those are what Debian had on the day. */
function recipe(): string {
  const hash = createHash("sha256");
  hash.update(JSON.stringify([process.version, PACKAGES, MODULES]));
  for (const name of ["kernel-hook", "first", "init"])
    hash.update(fs.readFileSync(`${GUEST}/${name}`));
  for (const name of ["system.ts", "debian.ts"])
    hash.update(fs.readFileSync(`${import.meta.dirname}/${name}`));
  return hash.digest("hex").slice(0, 12);
}

async function make(folder: string): Promise<void> {
  const root = `${folder}/root`;
  await unpackDebian(root, PACKAGES, `${GUEST}/kernel-hook`);
  const [kernel = ""] = fs
    .readdirSync(`${root}/boot`)
    .filter((name) => name.startsWith("vmlinuz-"));
  fs.cpSync(`${root}/boot/${kernel}`, `${folder}/kernel`);
  await makeInitrd(root, kernel.replace("vmlinuz-", ""), folder);
  fs.rmSync(`${root}/boot`, { recursive: true });
  // Linux makes the devices itself.
  fs.rmSync(`${root}/dev`, { recursive: true });
  fs.mkdirSync(`${root}/dev`);
  fs.cpSync(process.execPath, `${root}/usr/local/bin/node`);
  fs.cpSync(`${GUEST}/init`, `${root}/sbin/guest-init`);
  fs.chmodSync(`${root}/sbin/guest-init`, 0o755);
  await makeDisk(root, `${folder}/root.ext4`, 200);
  fs.rmSync(root, { recursive: true });
}

async function makeInitrd(root: string, release: string, folder: string): Promise<void> {
  const inside = `${folder}/initrd.d`;
  for (const name of ["bin", "dev", "modules", "root"])
    fs.mkdirSync(`${inside}/${name}`, { recursive: true });
  fs.cpSync(`${root}/bin/busybox`, `${inside}/bin/busybox`);
  fs.cpSync(`${GUEST}/first`, `${inside}/init`);
  fs.chmodSync(`${inside}/init`, 0o755);
  const drivers = `${root}/lib/modules/${release}/kernel/drivers`;
  const found = fs.readdirSync(drivers, { recursive: true, encoding: "utf8" });
  const order = MODULES.map((name) => `${name}.ko\n`).join("");
  fs.writeFileSync(`${inside}/modules/order`, order);
  for (const name of MODULES) {
    const path = found.find((one) => one.endsWith(`/${name}.ko`));
    if (path === undefined) throw new Error(`${release} has no module ${name}`);
    fs.cpSync(`${drivers}/${path}`, `${inside}/modules/${name}.ko`);
  }
  const archive = 'cd "$1" && find . | cpio --quiet -o -H newc >"$2"';
  await exec("sh", ["-c", archive, "sh", inside, `${folder}/initrd`]);
  fs.rmSync(inside, { recursive: true });
}
