import type { Namespace } from "../lab/namespace.ts";

/**
 * Which server answers at an address, or the error: "timeout", or what curl says. Each call of images/request starts Node, which a test
 * cannot do hundreds of times.
 */
export async function call(
  from: Namespace,
  address: string,
  port: number,
  seconds: number,
): Promise<string> {
  const host = address.includes(":") ? `[${address}]` : address;
  const argv = ["curl", "-sS", "-m", `${seconds}`, `http://${host}:${port}/`];
  const { code, stdout, stderr } = await from.run(argv);
  if (code === 0) return (JSON.parse(stdout) as { name: string }).name;
  return code === 28 ? "timeout" : stderr;
}
