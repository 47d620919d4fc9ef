// What build.test.ts bundles: it shows that a bundle finds netlink's native part, by the door that the agent uses.
import { NetfilterSocket } from "../../agent/system/netlink/socket.ts";

const socket = await NetfilterSocket.open();
console.log("open");
socket.close();
