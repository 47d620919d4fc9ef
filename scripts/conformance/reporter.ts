import type { TestEvent } from "node:test/reporters";
import { caseResult } from "./case-result.ts";

/** A reporter of Node's tests that writes the results of conformance cases, one line of JSON each, and nothing else. */
export default async function* reporter(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const { type, data } of events) {
    if (type !== "test:pass" && type !== "test:fail") continue;
    const error = type === "test:fail" ? data.details.error.cause : undefined;
    const skipped = data.skip !== undefined && data.skip !== false;
    const result = caseResult(data.name, { hasPassed: type === "test:pass", skipped, error });
    if (result !== undefined) yield `${JSON.stringify(result)}\n`;
  }
}
