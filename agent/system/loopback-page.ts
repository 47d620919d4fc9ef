import { get } from "node:http";

/** Maximum size of the page in bytes. */
const MOST = 1024 * 1024;
/** Milliseconds to wait for the answer. */
const TIMEOUT = 2_000;

/** The page that a program on this node serves on 127.0.0.1; undefined without an answer of status 200. Never rejects. */
export function loopbackPage(port: number, path: string): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  const request = get({ host: "127.0.0.1", port, path, timeout: TIMEOUT }, (response) => {
    let text = "";
    response.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
      if (text.length > MOST) request.destroy();
    });
    response.on("end", () => resolve(response.statusCode === 200 ? text : undefined));
    response.on("close", () => resolve(undefined));
  });
  request.on("timeout", () => request.destroy());
  request.on("error", () => resolve(undefined));
  return promise;
}
