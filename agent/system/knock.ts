/**
 * One SYN to port 0 of the address, and one word for what came back: `connected`, `silence` or an errno such as
 * ECONNREFUSED. Within a second, because a SYN is repeated after one.
 */
const SCRIPT = `
  const socket = require("node:net").connect({ host: process.argv[1], port: 0 });
  const end = (word) => {
    console.log(word);
    socket.destroy();
  };
  socket.setTimeout(800, () => end("silence"));
  socket.on("connect", () => end("connected"));
  socket.on("error", ({ code }) => end(code));
`;

/**
 * The program that knocks at an address: the one that runs this one, so that nothing else need be installed. It
 * takes 40 ms of CPU time, and 45 MB for as long as it lives.
 */
export function knockCommand(address: string): string[] {
  return [process.execPath, "-e", SCRIPT, address];
}
