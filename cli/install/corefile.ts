import { COREFILE_BLOCK } from "./manifests.ts";

const BLOCK = /^# clusterset-proxy: begin\n[\s\S]*?^# clusterset-proxy: end\n?/gm;

/** A Corefile with our block at its end, as `deploy/coredns/names add` leaves it. PURE. */
export function withNames(corefile: string): string {
  return `${withoutNames(corefile).trimEnd()}\n${COREFILE_BLOCK}\n`;
}

/** A Corefile without our block. PURE. */
export function withoutNames(corefile: string): string {
  return corefile.replaceAll(BLOCK, "");
}
