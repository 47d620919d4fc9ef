/** Bytes of an object's JSON at most: several times what etcd takes (1.5 MiB, in a denser form). */
export const LONGEST_OBJECT = 8 * 1024 * 1024;
