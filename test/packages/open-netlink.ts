// What tests bundle or start: it shows that netlink's native part is found, by the door that the agent uses. Its argument: a protocol.
import { NETLINK, NetlinkSocket } from "../../agent/system/netlink/socket.ts";

const socket = await NetlinkSocket.open(
  process.argv[2] === "route" ? NETLINK.route : NETLINK.netfilter,
);
console.log("open");
socket.close();
