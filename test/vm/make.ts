/** Makes the guest's system, if it is not there yet: for `scripts/prepare vm`. */
import { guestSystem } from "./system.ts";

await guestSystem();
