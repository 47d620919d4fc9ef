/** An object that is applied or deleted. */
export interface InstallObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    /** Absent for cluster-scoped kinds. */
    readonly namespace?: string;
    readonly name: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly [field: string]: unknown;
}

/** Lower-case plurals that are not the kind and an s. */
const PLURALS: Readonly<Record<string, string>> = {
  ClusterProperty: "clusterproperties",
  NetworkPolicy: "networkpolicies",
  SecurityContextConstraints: "securitycontextconstraints",
  ValidatingAdmissionPolicy: "validatingadmissionpolicies",
};

/** The resource of an object, as `ApiResource`. PURE. */
export function resourceOf({ apiVersion, kind }: Pick<InstallObject, "apiVersion" | "kind">) {
  const [version = "", group = ""] = apiVersion.split("/").reverse();
  const resource = PLURALS[kind] ?? `${kind.toLowerCase()}s`;
  return { group, versions: [version], resource, kind };
}

/** Such as `namespace/clusterset-proxy` or `clusterset-proxy/secret/hub`. PURE. */
export function titleOf({ kind, metadata: { namespace, name } }: InstallObject): string {
  const title = `${kind.toLowerCase()}/${name}`;
  return namespace === undefined ? title : `${namespace}/${title}`;
}
