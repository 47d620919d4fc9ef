import { test } from "node:test";
import { assertRescue } from "../conntrack/unanswered.ts";

test("a connect that a silent endpoint has not answered when it leaves is answered by another, or refused; what stands is let be", () => {
  process.env.CLUSTERSET_AGENT_BACKEND = "ipvs";
  return assertRescue();
});
