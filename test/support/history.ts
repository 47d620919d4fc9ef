import type { Model } from "../../agent/model/model.ts";
import type { Event } from "./worlds.ts";

/** Lets one event happen to a model. */
export function applyEvent(model: Model, event: Event, at = 0): void {
  if (event.kind === "import") model.setImport(event.fact, at);
  else if (event.kind === "import-gone") model.removeImport(event.key, at);
  else if (event.kind === "slice") model.setSlice(event.fact, at);
  else model.removeSlice(event.key, at);
}
