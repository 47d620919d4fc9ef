// Loaded first by every Node of the guest: the host has taken the types out of all sources, and they are plain modules. It
// does that in milliseconds; here it is most of the time that a program takes to start.
import { registerHooks } from "node:module";

registerHooks({
  load(url, context, next) {
    return next(url, url.endsWith(".ts") ? { ...context, format: "module" } : context);
  },
});
