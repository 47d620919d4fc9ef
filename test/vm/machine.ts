import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { createInterface } from "node:readline";
import { Guard, newRun, removeRun, STORE } from "../lab/removal.ts";
import type { Report } from "./results.ts";
import { type Job, makeRunDisk } from "./run-disk.ts";
import type { System } from "./system.ts";

/** How a guest ended. */
export interface End {
  /** What was wrong with the machine: it hung, died, or spoke noise. Without it, it has powered itself off. */
  readonly fault?: string;
  /** All that the kernel and the start of the system have written to the console. */
  readonly console: string;
}

/**
 * Emulated: slower than a hypervisor, and the same on a laptop, in a container and in another virtual machine. Not QEMU's
 * "microvm", which starts no faster: it has only one timer, and when the host is busy Linux cannot make sense of that.
 */
const MACHINE = [
  ...["-accel", "tcg,thread=multi", "-machine", "q35", "-cpu", "qemu64,+rdrand"],
  ...["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"],
];
/** A panic, and what would be one on a node only later, ends the guest at once. */
const KERNEL_LINE = "console=ttyS0 loglevel=4 panic=-1 oops=panic";
const MEMORY_MIB = 3_072;

/**
 * Boots the system, which runs the job and powers itself off, and passes on what it reports. A guest that prints nothing for
 * `silenceMs` is ended: it hangs, or a test in it does. QEMU never outlives this process, however that ends.
 */
export async function runMachine(
  system: System,
  job: Job,
  silenceMs: number,
  onReport: (report: Report) => void,
): Promise<End> {
  const run = newRun();
  const guard = new Guard(run);
  guard.start();
  try {
    const folder = `${STORE}/${run.id}`;
    mkdirSync(folder, { recursive: true });
    const disk = await makeRunDisk(folder, job);
    return await boot(commandLine(system, disk, folder), folder, silenceMs, onReport);
  } finally {
    await removeRun(run);
    guard.stop();
  }
}

function commandLine({ kernel, initrd, root }: System, disk: string, folder: string): string[] {
  const drive = (id: string, file: string) => [
    ...["-drive", `id=${id},if=none,format=raw,file=${file},cache=unsafe`],
    ...["-device", `virtio-blk-pci,drive=${id}`],
  ];
  return [
    // It is busy all the time, and what runs on the host beside it may have less patience.
    ...["nice", "-n", "10"],
    // The kernel kills it when this process has ended for any reason.
    ...["setpriv", "--pdeathsig", "KILL", "qemu-system-x86_64", ...MACHINE],
    ...["-smp", "2", "-m", String(MEMORY_MIB)],
    ...["-kernel", kernel, "-initrd", initrd, "-append", KERNEL_LINE],
    // What the guest writes to the root disk is in a file without a name, and goes with QEMU.
    ...drive("root", `${root},snapshot=on`),
    ...drive("run", disk),
    ...["-chardev", `file,id=console,path=${folder}/console`, "-serial", "chardev:console"],
    ...["-chardev", "stdio,id=results,signal=off", "-device", "virtio-serial-pci"],
    ...["-device", "virtserialport,chardev=results,name=results"],
  ];
}

async function boot(
  [command = "", ...args]: readonly string[],
  folder: string,
  silenceMs: number,
  onReport: (report: Report) => void,
): Promise<End> {
  const env = { ...process.env, TMPDIR: folder };
  // Its input stays open and empty: at its end QEMU would unplug the guest's port.
  const qemu = spawn(command, args, { env, stdio: ["pipe", "pipe", "pipe"] });
  const ended = Promise.withResolvers<string | undefined>();
  qemu.once("error", (error) => ended.resolve(error.message));
  let errors = "";
  qemu.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors += text;
  });
  let fault: string | undefined;
  const giveUp = (why: string) => {
    fault ??= why;
    qemu.kill("SIGKILL");
  };
  qemu.once("close", (code, signal) =>
    ended.resolve(
      fault ?? (code === 0 ? undefined : `QEMU: ${signal ?? `code ${code}`} ${errors}`),
    ),
  );

  let lastOutputMs = performance.now();
  createInterface({ input: qemu.stdout }).on("line", (line) => {
    lastOutputMs = performance.now();
    try {
      // The guest's programs are of this tree; half a line, or noise, is no JSON.
      onReport(JSON.parse(line));
    } catch (error) {
      giveUp(`not a report: ${line.slice(0, 200)}: ${String(error)}`);
    }
  });
  let written = 0;
  const timer = setInterval(() => {
    const size = statSync(`${folder}/console`, { throwIfNoEntry: false })?.size ?? 0;
    if (size !== written) lastOutputMs = performance.now();
    written = size;
    if (performance.now() - lastOutputMs >= silenceMs) giveUp(`silent for ${silenceMs / 1_000} s`);
  }, 500);
  const said = await ended.promise;
  clearInterval(timer);
  // A panic has been written since the last look; a QEMU that did not start has written nothing.
  const file = `${folder}/console`;
  const console = existsSync(file) ? readFileSync(file, "utf8") : "";
  return { console, ...(said === undefined ? {} : { fault: said }) };
}
