/** Opens TCP connections in its namespace, and passes each to the requesting process. Ends with that process. */
import { connect } from "node:net";

process.on("message", ({ id, host, port }: { id: number; host: string; port: number }) => {
  const socket = connect({ host, port });
  const refused = (error: Error) => process.send?.({ id, error: error.message });
  socket.once("error", refused);
  socket.once("connect", () => {
    socket.off("error", refused);
    // Nobody here listens to it any more.
    socket.on("error", () => undefined);
    process.send?.({ id }, socket);
  });
});
process.on("disconnect", () => process.exit());
