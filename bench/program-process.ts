/**
 * Programs the node in whose network namespace it runs. Arguments: title of the backend, services, endpoints of each, the addresses of
 * the endpoints of some services, and the numbers of these services; both separated by commas.
 */
import { backendOf } from "./backends.ts";
import { Pipeline } from "./pipeline.ts";
import { service } from "./services.ts";

const [title = "", services, endpoints, addresses = "", numbers = ""] = process.argv.slice(2);
const size = { services: Number(services), endpoints: Number(endpoints) };
const answered = new Set(numbers.split(",").map(Number));
const pipeline = new Pipeline(backendOf(title).open());
const all = Array.from({ length: size.services }, (_, i) => i + 1);
pipeline.list(all.map((n) => service(n, size, answered.has(n) ? addresses.split(",") : undefined)));
await pipeline.pass();
await pipeline.close();
