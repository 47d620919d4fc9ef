import type { Namespace } from "../lab/namespace.ts";

/** As images/request does over TCP, without a start of Node: a test calls hundreds of times. */
const WHO = 'exec 3<>"/dev/tcp/$0/$1" && echo who >&3 && read -r name _ <&3 && echo "$name"';
const ERRORS = [
  ["refused", /Connection refused|Operation not permitted/],
  ["reset", /Connection reset/],
  ["unreachable", /No route to host|unreachable|Permission denied/],
] as const;

/** Which server answers at an address, or the error. */
export async function call(
  from: Namespace,
  address: string,
  port: number,
  seconds: number,
): Promise<string> {
  const argv = ["timeout", `${seconds}`, "bash", "-c", WHO, address, `${port}`];
  const { code, stdout, stderr } = await from.run(argv);
  if (code === 0) return stdout.trim();
  if (code === 124) return "timeout";
  return ERRORS.find(([, text]) => text.test(stderr))?.[0] ?? `${code} ${stderr}`;
}
