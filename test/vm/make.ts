/**
 * Makes what the virtual machine needs if it is missing, so that no two tests make it at once: `debian`, the Debian that its disk begins
 * with, or `disk`.
 */
import { debianRoot } from "./debian.ts";
import { guestSystem } from "./system.ts";

const [what] = process.argv.slice(2);
if (what === "debian") await debianRoot();
else await guestSystem();
