import { ApiFault } from "../../common/kubernetes/api-fault.ts";
import { SECRETS } from "../../common/kubernetes/kinds.ts";
import { withKubeconfig } from "../install/desired.ts";
import { titleOf } from "../install/install-object.ts";
import {
  accessIn,
  kubeconfigOf,
  type RegistryAccess,
  secretText,
} from "../install/registry-access.ts";
import { planObject } from "./apply-objects.ts";
import { ClusterFault } from "./cluster-fault.ts";
import { accessFor, type Handover } from "./handover.ts";
import { type ApplyOptions, applyInOrder } from "./join-plan.ts";
import {
  SERVICE_ACCOUNT_NAME,
  type TokenSecret,
  tokenSecrets,
  untilToken,
} from "./token-secrets.ts";
import { until } from "./until.ts";

/** How far the rotation of a token is. */
export interface Rotation {
  readonly handover: Handover;
  /** Name of the Secret with the new token; absent: it is to be made. */
  readonly fresh?: string;
  /** Names of Secrets with tokens that are to be deleted at the end. */
  readonly old: readonly string[];
}

/** Options of `rotateToken`. */
export interface RotateOptions extends ApplyOptions {
  /** Milliseconds until the new token is seen in use. */
  readonly within: number;
}

/** What a rotation has to do; continues one that broke off. Rejects with an ApiFault if there is no token. */
export async function planRotation(handover: Handover): Promise<Rotation> {
  const { from, namespace, account, to, secret, key } = handover;
  const [tokens, live] = await Promise.all([
    tokenSecrets(from, namespace, account),
    to.objects.get(SECRETS, secret.metadata),
  ]);
  if (tokens.length === 0 || live === undefined) {
    const text = `${to.context} has no token for ${namespace}. Let it join first: kubectl clusterset join`;
    throw new ClusterFault(from, new ApiFault("absent", text));
  }
  const used = tokens.find(
    ({ token }) => token === accessIn(secretText(live.object, key) ?? "")?.token,
  );
  const fresh = freshOf(tokens, used);
  const old = tokens.filter((one) => one !== fresh).map(({ name }) => name);
  return { handover, old, ...(fresh !== undefined && { fresh: fresh.name }) };
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
 * A second token, then the kubeconfig in place, then, once the API server has seen it in use, the end of the others: no watch lacks a
 * valid token. Rejects with an ApiFault; a repetition continues.
 */
export async function rotateToken(rotation: Rotation, options: RotateOptions): Promise<void> {
  const { handover, old } = rotation;
  const { from, namespace, account, to, secret, key } = handover;
  const { signal, timeOfDay, force, done, within } = options;
  const name = rotation.fresh ?? `${account}-${stamp(timeOfDay)}`;
  if (rotation.fresh === undefined) {
    const annotations = { [SERVICE_ACCOUNT_NAME]: account };
    await from.objects.apply(SECRETS, {
      ...{
        metadata: { namespace, name, annotations },
        type: "kubernetes.io/service-account-token",
      },
    } as { metadata: { namespace: string; name: string } });
    done(from, `${namespace}/secret/${name}`, "created");
  }
  const token = await untilToken(from, namespace, account, signal, name);
  const text = kubeconfigOf(await renewed(handover, token));
  const planned = await planObject(to, withKubeconfig(secret, key, text), {
    force,
    validate: false,
  });
  await applyInOrder(to, [planned], options);
  await until(within, signal, async () => {
    const found = (await tokenSecrets(from, namespace, account)).find((one) => one.name === name);
    if (found?.used === true) return { found: undefined };
    return {
      missing: `${to.context}: the new token of ${titleOf(secret)} is not in use yet, as ${from.context} reports it; the old one stays`,
    };
  });
  for (const one of old) {
    const live = await from.objects.get(SECRETS, { namespace, name: one });
    if (live === undefined) continue;
    await from.objects.delete(SECRETS, { namespace, name: one }, { uid: live.meta.uid });
    done(from, `${namespace}/secret/${one}`, "deleted");
  }
}

/** SECRET. The reader's present access with another token: its address and CA may have been set by hand. */
async function renewed(
  handover: Handover,
  token: TokenSecret & { readonly token: string },
): Promise<RegistryAccess> {
  const { to, secret, key } = handover;
  const live = await to.objects.get(SECRETS, secret.metadata);
  const present =
    accessIn(secretText(live?.object, key) ?? "") ?? (await accessFor(handover, token));
  return { ...present, token: token.token };
}

/** Such as `20261124t094512`. */
function stamp(timeOfDay: number): string {
  return new Date(timeOfDay)
    .toISOString()
    .replaceAll(/[-:]|\..*/g, "")
    .toLowerCase();
}
