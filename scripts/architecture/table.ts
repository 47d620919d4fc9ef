/** What the files of one part of the tree may import. */
export interface Rule {
  /** Globs of paths; a file belongs to the first rule that has one for it. */
  readonly files: readonly string[];
  /**
   * Globs of paths, and names: `node:` for any built-in module, `node:fs` for one and what is below it, `yaml`
   * for a package, `./` for the file's own folder.
   */
  readonly may: readonly string[];
  /** True if the files must have no side effects and no state: see `IMPURE` in laws.ts. */
  readonly pure: boolean;
  readonly why: string;
}

/** Allowed imports. docs/ARCHITECTURE.md shows this table, and a test enforces it. */
export const RULES: readonly Rule[] = [
  {
    files: ["**/*.test.ts", "test/**", "scripts/**"],
    may: ["**", "node:", "*"],
    pure: false,
    why: "Tests and scripts may import everything; no other file imports them.",
  },
  {
    files: ["api/**"],
    may: ["api/**", "ip-address"],
    pure: true,
    why: "The types that all programs share; loads anywhere. ip-address is pure, and computes address ranges.",
  },
  {
    files: ["common/kubernetes/**"],
    may: ["api/**", "common/**", "node:", "@kubernetes/client-node/dist/config.js", "yaml"],
    pure: false,
    why: "The only place with requests to an API server.",
  },
  {
    files: ["common/**"],
    may: ["api/**", "common/**", "node:", "package.json", "pino", "prom-client"],
    pure: false,
    why: "Shared by all programs; imports none of them.",
  },
  {
    files: ["agent/model/**"],
    may: ["api/**", "agent/model/**"],
    pure: true,
    why: "Facts, and the strict parsers that create them.",
  },
  {
    files: ["agent/plan/**"],
    may: ["api/**", "agent/model/**", "agent/plan/**"],
    pure: true,
    why: "Stateless decisions: same facts, same plan.",
  },
  {
    files: ["agent/backends/{backend,limits,names,requirements}.ts"],
    may: ["api/**", "agent/plan/virtual-service.ts", "agent/system/program-result.ts"],
    pure: true,
    why: "The seam: meaning in, kernel objects out.",
  },
  {
    files: ["agent/backends/backend-kind.ts"],
    may: ["./", "api/**", "common/log.ts"],
    pure: false,
    why: "The use of a backend before and after it programs a family.",
  },
  {
    files: ["agent/backends/kinds.ts"],
    may: ["agent/backends/{backend-kind,names}.ts", "agent/backends/*/kind.ts"],
    pure: false,
    why: "The record of all backends; no other file names one.",
  },
  {
    files: ["agent/backends/nft/*"],
    may: ["./", "api/**", "agent/{backends/backend,plan/virtual-service}.ts", "node:crypto"],
    pure: true,
    why: "What IPVS and nftables share: services by VIP, and the text of nft. Hashing is pure.",
  },
  {
    files: [
      "agent/backends/*/{apply,backend,flavour,kind,kube-proxy-watch,limits,list,probe,read,remove,requirements,support}.ts",
    ],
    may: [
      "./",
      "api/**",
      "common/**",
      "agent/backends/{nft/,}*.ts",
      "agent/plan/virtual-service.ts",
      "agent/system/**",
    ],
    pure: false,
    why: "The part of a backend that accesses the kernel, through agent/system.",
  },
  {
    files: ["agent/backends/*/*"],
    may: [
      "./",
      "api/**",
      "agent/backends/{backend,requirements}.ts",
      "agent/backends/nft/*",
      "agent/plan/virtual-service.ts",
      "agent/system/ipvs/object.ts",
      "agent/system/nftables/{element,listing,text}.ts",
      "node:crypto",
    ],
    pure: true,
    why: "The rest of a backend renders and compares. It imports no other backend; hashing is pure.",
  },
  {
    files: ["agent/sources/source.ts"],
    may: ["api/**", "agent/model/**"],
    pure: true,
    why: "The interface of a source.",
  },
  {
    files: ["agent/sources/{fact-tables,object-table,slice-quota}.ts"],
    may: ["./", "api/**", "agent/model/**", "node:util"],
    pure: false,
    why: "The present facts of each resource, for all sources, and their limit.",
  },
  {
    files: ["agent/sources/*/*"],
    may: [
      "./",
      "api/**",
      "common/**",
      "agent/model/**",
      "agent/sources/*.ts",
      "node:buffer",
      "node:fs",
      "node:path",
      "node:util",
      "yaml",
    ],
    pure: false,
    why: "Turns input into facts; decides nothing.",
  },
  {
    files: [
      "agent/conntrack/{endpoint-removal,port-index,programmed-port,programmed-state,scan-scope,stale-check}.ts",
    ],
    may: [
      "./",
      "api/**",
      "agent/plan/virtual-service.ts",
      "agent/system/conntrack/{entry,table}.ts",
    ],
    pure: true,
    why: "Which conntrack entries are stale, compared with the live state.",
  },
  {
    files: ["agent/conntrack/**"],
    may: [
      "./",
      "api/**",
      "common/**",
      "agent/plan/**",
      "agent/sync/follower.ts",
      "agent/system/conntrack/**",
    ],
    pure: false,
    why: "Scans the connection tracking table after a transaction, off the straight line.",
  },
  {
    files: ["agent/sync/**"],
    may: [
      "api/**",
      "common/**",
      "agent/backends/{backend,limits}.ts",
      "agent/model/**",
      "agent/plan/**",
      "agent/sources/source.ts",
      "agent/sync/**",
      "node:util",
    ],
    pure: false,
    why: "The straight line from sources to kernel.",
  },
  {
    files: ["agent/preflight/preflight.ts"],
    may: [
      "./",
      "api/**",
      "common/**",
      "agent/backends/requirements.ts",
      "agent/system/program-result.ts",
    ],
    pure: false,
    why: "Runs the checks of the node every minute.",
  },
  {
    files: ["agent/preflight/**"],
    may: ["./", "api/**", "agent/backends/requirements.ts", "agent/system/program-result.ts"],
    pure: true,
    why: "Queries of a node, and the meaning of their results.",
  },
  {
    files: ["agent/config/**"],
    may: [
      "api/**",
      "common/config/**",
      "common/log.ts",
      "agent/backends/{backend,backend-kind,names}.ts",
      "agent/config/**",
      "agent/model/facts.ts",
    ],
    pure: false,
    why: "Arguments in, one frozen value out.",
  },
  {
    files: ["agent/observe/**"],
    may: [
      "api/**",
      "common/**",
      "agent/config/**",
      "agent/backends/backend.ts",
      "agent/conntrack/**",
      "agent/observe/**",
      "agent/plan/**",
      "agent/preflight/**",
      "agent/sync/**",
      "prom-client",
      "yaml",
    ],
    pure: false,
    why: "Reports decisions and actions; nothing depends on it.",
  },
  {
    files: [
      "agent/system/netlink/{attribute-writer,attributes,generic,message,values}.ts",
      "agent/system/conntrack/{encoding,entry,listing,table}.ts",
      "agent/system/{ipvs,link}/{encoding,object}.ts",
      "agent/system/nftables/{comment,element,encoding,fields,listing,text}.ts",
      "agent/system/program-result.ts",
    ],
    may: [
      "./",
      "api/**",
      "agent/system/netlink/{attribute-writer,attributes,generic,message,values}.ts",
    ],
    pure: true,
    why: "Strict encoders and decoders of netlink messages and of the conntrack program's output.",
  },
  {
    files: ["agent/system/netlink/socket.ts"],
    may: ["./", "common/errors.ts", "node:util", "netlink/dist/raw.js"],
    pure: false,
    why: "The only place that loads native code.",
  },
  {
    files: ["agent/system/**"],
    may: ["api/**", "common/**", "agent/system/**", "node:"],
    pure: false,
    why: "The only place of the agent, besides sources, with processes, files and interfaces.",
  },
  {
    files: ["controller/model/**"],
    may: ["./", "api/**"],
    pure: true,
    why: "Facts of the controller, and their strict parsers.",
  },
  {
    files: ["controller/export/**"],
    may: ["./", "api/**", "controller/model/**"],
    pure: true,
    why: "The published record of a ServiceExport, and its slices.",
  },
  {
    files: ["controller/registry/**"],
    may: ["./", "api/**", "controller/model/**", "node:crypto"],
    pure: true,
    why: "Encodes and decodes the objects of a registry. Hashing is pure.",
  },
  {
    files: ["controller/merge/**"],
    may: ["./", "api/**", "controller/model/**"],
    pure: true,
    why: "Merges all exports of a name into one service. No state.",
  },
  {
    files: ["controller/allocate/**"],
    may: ["./", "api/**", "node:crypto"],
    pure: true,
    why: "Allocates VIPs. No state. Hashing is pure.",
  },
  {
    files: ["controller/import/**"],
    may: [
      "./",
      "api/**",
      "controller/allocate/**",
      "controller/merge/**",
      "controller/model/**",
      "node:crypto",
    ],
    pure: true,
    why: "The desired import and slices of a merged service, and conditions of exports.",
  },
  {
    files: ["controller/liveness/**"],
    may: [
      "./",
      "api/**",
      "common/clock.ts",
      "common/kubernetes/{api-fault,reflector-events,writer}.ts",
      "common/lease/leader-elector.ts",
      "controller/model/**",
    ],
    pure: false,
    why: "Expired Leases, and recovery after an outage: all decisions that depend on time.",
  },
  {
    files: ["agent/command/**", "agent/main.ts"],
    may: [
      "api/**",
      "common/**",
      "agent/backends/*.ts",
      "agent/{command,config,conntrack,model,observe,plan,preflight,sources,sync,system}/**",
      "node:os",
    ],
    pure: false,
    why: "Assembles the agent from its parts.",
  },
  {
    files: ["controller/identity/**"],
    may: ["./", "api/**", "controller/model/**"],
    pure: true,
    why: "Identity of the local cluster and of peers, and conflicts between two clusters with one ID.",
  },
  {
    files: ["controller/peers/parse-peer.ts"],
    may: ["api/**", "controller/model/peer-scope.ts"],
    pure: true,
    why: "Strict parser of peers' Secrets; never shows their content.",
  },
  {
    files: ["controller/config/**"],
    may: [
      "./",
      "api/**",
      "common/config/**",
      "common/kubernetes/inline-kubeconfig.ts",
      "common/log.ts",
      "controller/allocate/pool.ts",
      "controller/liveness/{cluster-liveness,lease-times}.ts",
      "controller/model/{exported-keys,exported-metadata}.ts",
    ],
    pure: false,
    why: "Arguments in, one frozen value out.",
  },
  {
    files: ["controller/stores/**"],
    may: [
      "./",
      "api/**",
      "common/{clock,lease/lease}.ts",
      "common/kubernetes/**",
      "controller/identity/**",
      "controller/liveness/**",
      "controller/model/**",
      "controller/registry/**",
      "node:crypto",
      "node:util",
    ],
    pure: false,
    why: "Informers and caches of each API server.",
  },
  {
    files: ["controller/sync/**"],
    may: [
      "./",
      "api/**",
      "common/**",
      "controller/{allocate,config,export,identity,import,liveness,merge,model,peers,registry,stores}/**",
      "controller/observe/observer.ts",
    ],
    pure: false,
    why: "Reconcilers: from caches to writes. All logs and counts go through the Observer.",
  },
  {
    files: ["controller/observe/**"],
    may: ["./", "api/**", "common/**", "controller/**", "prom-client"],
    pure: false,
    why: "Logs, metrics and pages; only the Observer is used elsewhere.",
  },
  {
    files: ["controller/command/**", "controller/main.ts"],
    may: ["api/**", "common/**", "controller/**", "node:crypto", "node:os"],
    pure: false,
    why: "Assembles the controller.",
  },
  {
    files: ["images/*/*"],
    may: ["./", "node:"],
    pure: false,
    why: "Programs of the lab's containers, independent of each other.",
  },
];

/** Programs and tests: they are started, never imported. */
export const PROGRAMS: readonly string[] = ["**/main.ts", "scripts/*.ts", "**/*.test.ts"];
