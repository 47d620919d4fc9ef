/** Makes the disk of the virtual machine if it is missing, so that no two tests make it at once. */
import { guestSystem } from "./system.ts";

await guestSystem();
