// What arm64.test.ts bundles. QEMU's user emulation knows netlink's protocol for routes, not the one of netfilter.
import { NETLINK, NetlinkSocket } from "../../agent/system/netlink/socket.ts";

const socket = await NetlinkSocket.open(NETLINK.route);
console.log("open");
socket.close();
