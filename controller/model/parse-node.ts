import { TAINT_AGENT_NOT_READY } from "../../api/keys.ts";
import { isSubdomainName } from "../../api/names.ts";
import type { Parsed } from "../../api/parse/complaints.ts";
import { fieldAt, listOf, textField } from "../../api/parse/fields.ts";
import { parseClusterObject, parseObject } from "../../api/parse/object-name.ts";
import { parseRanges, type RangesFact } from "./parse-ranges.ts";

/** A Node: its pod ranges, and what its startup taint depends on. */
export interface NodeFact {
  readonly name: string;
  readonly uid: string;
  readonly podRanges: RangesFact;
  /** Another one after each restart; undefined before the kubelet has reported one. */
  readonly bootId: string | undefined;
  /** Whether it has the startup taint. */
  readonly isTainted: boolean;
}

/** Parses a Node. Invalid ranges are left out. */
export function parseNode(object: unknown): Parsed<NodeFact> {
  return parseClusterObject("Node", object, isSubdomainName, (name, complaints) => ({
    name,
    uid: textField(fieldAt(object, "metadata"), "uid") ?? "",
    podRanges: parseRanges(object, "podCIDRs", complaints),
    bootId: textField(fieldAt(object, "status", "nodeInfo"), "bootID"),
    isTainted: taintsOf(object).some(isStartupTaint),
  }));
}

/** All taints of a Node. */
export function taintsOf(node: unknown): readonly unknown[] {
  return listOf(fieldAt(node, "spec", "taints"));
}

/** True for the startup taint, with any effect: NoSchedule, or NoExecute. */
export function isStartupTaint(taint: unknown): boolean {
  return textField(taint, "key") === TAINT_AGENT_NOT_READY;
}

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
