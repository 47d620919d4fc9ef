import { isCidr, parseCidr } from "../../api/cidr.ts";
import { isInside } from "../install/ranges.ts";

/** Variables of the environment. */
type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The proxy for an API server by HTTPS_PROXY, HTTP_PROXY and NO_PROXY, as kubectl (Go's net/http) reads them; undefined for a direct
 * connection. `server`: URL. PURE.
 */
export function environmentProxy(server: string, env: Environment): string | undefined {
  const url = URL.parse(server);
  if (url === null) return undefined;
  const variable = (name: string) => [env[name], env[name.toLowerCase()]].find(Boolean);
  const proxy = variable(url.protocol === "http:" ? "HTTP_PROXY" : "HTTPS_PROXY");
  if (proxy === undefined || isDirect(url, variable("NO_PROXY") ?? "")) return undefined;
  return /^(https?|socks5h?):\/\//.test(proxy) ? proxy : `http://${proxy}`;
}

function isDirect({ hostname, port, protocol }: URL, excluded: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, "").toLowerCase();
  const address = parseCidr(`${host}/${host.includes(":") ? 128 : 32}`);
  if (host === "localhost" || host.startsWith("127.") || host === "::1") return true;
  const actualPort = port || (protocol === "http:" ? "80" : "443");
  return excluded.split(",").some((text) => {
    const entry = text.trim().toLowerCase();
    if (entry === "") return false;
    if (entry === "*") return true;
    const [, name = entry, onPort] =
      /^\[?([^\]]+?)\]?:(\d+)$/.exec(
        entry.split(":").length > 2 && !entry.startsWith("[") ? "" : entry,
      ) ?? [];
    if (onPort !== undefined && onPort !== actualPort) return false;
    const range = parseCidr(name.includes("/") ? name : `${name}/${name.includes(":") ? 128 : 32}`);
    if (isCidr(range)) return isCidr(address) && isInside(address, range);
    const domain = name.replace(/^\*?\./, "");
    // A dot in front: only names below it.
    return host.endsWith(`.${domain}`) || (domain === name && host === domain);
  });
}
