import { ANNOTATION_ENDPOINT_CIDRS } from "../../api/keys.ts";

/** The annotation that declares the ranges of all endpoints of tests for a cluster, apart from the ClusterSet CIDRs. */
export const POD_RANGES = {
  [ANNOTATION_ENDPOINT_CIDRS]: "10.0.0.0/8,172.16.0.0/12,192.0.2.0/24,fd00:10::/32,2001:db8::/32",
};
