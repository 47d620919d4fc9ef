// What build.test.ts bundles: it shows that a bundle finds netlink's native part, by the door that the agent uses.
import { NETLINK, NetlinkSocket } from "../../agent/system/netlink/socket.ts";

const socket = await NetlinkSocket.open(NETLINK.netfilter);
console.log("open");
socket.close();
