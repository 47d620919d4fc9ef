// What build.test.ts bundles: it shows that a bundle finds netlink's native part.
import { createRtNetlink } from "netlink";

console.log(typeof createRtNetlink);
