import { readFileSync } from "node:fs";

/** What a native part has, as binutils list it. */
export interface NativePart {
  /** Shared libraries that it needs. */
  readonly libraries: ReadonlySet<string>;
  /** Functions of other libraries that it calls: Node's, libuv's, the C library's. Not those of the C++ runtime. */
  readonly imports: ReadonlySet<string>;
  /** Functions that it contains. Not those of the C++ runtime. */
  readonly functions: ReadonlySet<string>;
  readonly strings: readonly string[];
  /** Instructions that call the kernel without the C library. */
  readonly systemCalls: readonly string[];
}

/** Runs a program and returns its output. */
export type Output = (program: string, ...args: readonly string[]) => string;

/**
 * Symbols of the compiler, of the linker for ARM, and of libstdc++, which differ between releases. Not those of libstdc++ for files,
 * threads and devices.
 */
const OF_COMPILER =
  /^(_Z(?!.*(file|fstream|thread|device))(N?K?St|T[VTIS]N?K?St|NK?Sa|n[aw]|d[al])|_Unwind_|_ITM_|_Jv_|__(cxa|gxx|stack_chk|gmon|do_global)_|call_weak_fn$|\$)/;

/** Reads a native part with nm, readelf and objdump. */
export function readNativePart(file: string, output: Output): NativePart {
  const symbols = (...flags: readonly string[]) =>
    output("nm", "--format=posix", ...flags, file)
      .split("\n")
      .map((line) => line.split(" "))
      .filter(([name = ""]) => !OF_COMPILER.test(name));
  const strings = output("readelf", "--wide", "--string-dump=.rodata", file);
  const dynamic = output("readelf", "--wide", "--dynamic", file);
  return {
    libraries: new Set([...dynamic.matchAll(/\(NEEDED\).*\[(.*)\]/g)].map(([, name = ""]) => name)),
    // Without the version of the library.
    imports: new Set(
      symbols("--dynamic", "--undefined-only").map(([name = ""]) => name.replace(/@.*/, "")),
    ),
    // T, t, W: code. Suffixes of copies that the optimiser makes are left out.
    functions: new Set(
      symbols("--defined-only").flatMap(([name = "", type = ""]) =>
        /[tw]/i.test(type) ? name.replace(/\.(isra|part|constprop|cold)\b.*/, "") : [],
      ),
    ),
    strings: [...strings.matchAll(/^ +\[ *[0-9a-f]+\] +(.+)$/gm)].map(([, text = ""]) => text),
    systemCalls: systemCallsOf(file, output),
  };
}

/** The number of ARM's 64-bit architecture in a file's header (elf.h). */
const AARCH64 = 183;

function systemCallsOf(file: string, output: Output): string[] {
  const content = readFileSync(file);
  if (content.readUInt16LE(18) !== AARCH64) {
    const listing = output("objdump", "--disassemble", "--no-show-raw-insn", file);
    return listing.match(/^.*\t(syscall|sysenter|int +\$0x80)\b.*$/gm) ?? [];
  }
  // objdump knows this machine's instructions only. Those of ARM have four bytes each; this is `svc`, with any operand.
  const words = new Uint32Array(Uint8Array.from(content.subarray(0, content.length & ~3)).buffer);
  return [...words.entries()].flatMap(([i, word]) =>
    (word & 0xff_e0_00_1f) >>> 0 === 0xd4_00_00_01 ? [`${(4 * i).toString(16)}: svc`] : [],
  );
}

/** What the prebuilt parts of netlink 0.3.0 have because an older toolchain built them: GCC 5.4, and headers before Node 20. */
const OF_TOOLCHAIN: ReadonlySet<string> = new Set([
  // Part of the C library since glibc 2.34; and its loader, which it names on ARM.
  "library libpthread.so.0",
  "library ld-linux-aarch64.so.1",
  // Older headers register a module by a call; newer ones by the name of a function.
  "import napi_module_register",
  "function _register_netlink_binding",
  'string "netlink_binding"',
  // The optimiser calls it to clear memory.
  "import memset",
  // The file's name in failed assertions, and a message of libstdc++.
  'string "../src/binding.cc"',
  'string "basic_string::_M_construct null not valid"',
]);

/** What a prebuilt part has and a part that was built from the source has not, a line for each; none is expected. PURE. */
export function unexplained(prebuilt: NativePart, source: NativePart): string[] {
  const extra = (kind: "libraries" | "imports" | "functions", word: string) =>
    [...prebuilt[kind]].filter((name) => !source[kind].has(name)).map((name) => `${word} ${name}`);
  return [
    ...extra("libraries", "library"),
    ...extra("imports", "import"),
    ...extra("functions", "function"),
    // The linker merges a string with the end of a longer one.
    ...prebuilt.strings
      .filter((text) => !source.strings.some((other) => other.endsWith(text)))
      .map((text) => `string "${text}"`),
    ...prebuilt.systemCalls.map((line) => `instruction ${line.trim()}`),
  ].filter((line) => !OF_TOOLCHAIN.has(line));
}
