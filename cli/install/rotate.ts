import type { Change, Handover } from "./change.ts";
import { type TokenSecret, tokenSecret } from "./handovers.ts";

/** A kubeconfig whose token is replaced, and all tokens of its service account, oldest first. */
export interface Rotation {
  readonly handover: Handover;
  readonly tokens: readonly TokenSecret[];
  /** The token in the kubeconfig. SECRET. */
  readonly used: string | undefined;
}

/** In order: tokens are made, kubeconfigs have them and are in use, old tokens are deleted. */
const STAGE = { token: 0, kubeconfig: 1, end: 2 } as const;

/**
 * The changes of a rotation: a second token, then the kubeconfig, then, once the API server has seen it in use, the end of the others. So
 * no watch lacks a valid token. A rotation that broke off continues. PURE.
 */
export function rotateChanges(rotations: readonly Rotation[]): Change[] {
  return rotations.flatMap(({ handover, tokens, used }): Change[] => {
    const { from, namespace, account, to } = handover;
    const fresh = freshOf(
      tokens,
      tokens.find(({ token }) => token !== undefined && token === used),
    );
    const name = fresh?.name ?? nextName(account, tokens);
    const token = { namespace, account, name };
    const made: Change = {
      ...{ on: from, stage: STAGE.token, act: "put", object: tokenSecret(token) },
      wait: { for: "token", token },
    };
    return [
      ...(fresh === undefined ? [made] : []),
      {
        ...{ on: to, stage: STAGE.kubeconfig, act: "hand-over", handover, token: name },
        detail: fresh === undefined ? "gets a new token" : `continues with the token in ${name}`,
        wait: { for: "token-use", of: from, token, by: to },
      },
      ...tokens
        .filter((one) => one !== fresh)
        .map(
          (one): Change => ({
            ...{
              on: from,
              stage: STAGE.end,
              act: "remove",
              detail: "once the new token is in use",
            },
            object: tokenSecret({ ...token, name: one.name }),
          }),
        ),
    ];
  });
}

/** Of several tokens, one that was made after the reader's own; or that, if an older one is left. PURE. */
function freshOf(
  tokens: readonly TokenSecret[],
  used: TokenSecret | undefined,
): TokenSecret | undefined {
  if (tokens.length < 2 || used === undefined) return undefined;
  const later = tokens.findLast((one) => one !== used && one.created >= used.created);
  return later ?? used;
}

/**
 * The name of the Secret of the next token, such as `c2-after-20261124t094512`, the creation of the newest one: two rotations at the same time make the same
 * token, and both delete the one before. PURE.
 */
function nextName(account: string, tokens: readonly TokenSecret[]): string {
  const stamp = (tokens.at(-1)?.created ?? "").replaceAll(/[^0-9TZ]/g, "").replace("Z", "");
  let name = `${account}-after-${stamp}`.toLowerCase();
  while (tokens.some((one) => one.name === name)) name += "n";
  return name;
}
