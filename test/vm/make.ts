/** Makes the disk of the virtual machine if it is missing: for `scripts/prepare vm`. */
import { guestSystem } from "./system.ts";

await guestSystem();
