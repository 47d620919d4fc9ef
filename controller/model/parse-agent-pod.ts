import { isSubdomainName } from "../../api/names.ts";
import type { Parsed } from "../../api/parse/complaints.ts";
import { fieldAt, listOf, textField } from "../../api/parse/fields.ts";
import { parseObject } from "../../api/parse/object-name.ts";

/** A pod of the agent's DaemonSet that is bound to a node. */
export interface AgentPodFact {
  readonly node: string;
  readonly isReady: boolean;
}

/** Parses a pod of the agent; one that is not bound to a node yet gives no fact. */
export function parseAgentPod(object: unknown): Parsed<AgentPodFact> {
  return parseObject("Pod", object, isSubdomainName, () => {
    const node = textField(fieldAt(object, "spec"), "nodeName") ?? "";
    if (node === "") return undefined;
    const isReady = listOf(fieldAt(object, "status", "conditions")).some(
      (one) => textField(one, "type") === "Ready" && textField(one, "status") === "True",
    );
    return { node, isReady };
  });
}
