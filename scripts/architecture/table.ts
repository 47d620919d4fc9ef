/** What the files of one part of the tree may import. */
export interface Rule {
  /** Globs of paths; a file belongs to the first rule that has one for it. */
  readonly files: readonly string[];
  /**
   * Globs of paths, and names: `node:` for any built-in module, `node:fs` for one and what is below it, `yaml`
   * for a package, `./` for the file's own folder.
   */
  readonly may: readonly string[];
  /** True if the files must not touch the world, nor remember anything: see `IMPURE`. */
  readonly pure: boolean;
  readonly why: string;
}

/** Who may import whom. docs/ARCHITECTURE.md shows this table; a test holds the tree to it. */
export const RULES: readonly Rule[] = [
  {
    files: ["**/*.test.ts", "test/**", "scripts/**"],
    may: ["**", "node:", "*"],
    pure: false,
    why: "Tests and scripts look at everything; nothing looks at them.",
  },
  {
    files: ["api/**"],
    may: ["api/**"],
    pure: true,
    why: "The nouns that all programs speak; must load anywhere.",
  },
  {
    files: ["common/kubernetes/**"],
    may: ["api/**", "common/**", "node:", "@kubernetes/client-node/dist/config.js", "yaml"],
    pure: false,
    why: "The only place that speaks to an API server.",
  },
  {
    files: ["common/**"],
    may: ["api/**", "common/**", "node:", "package.json", "pino", "prom-client"],
    pure: false,
    why: "How our programs run; knows none of them.",
  },
  {
    files: ["agent/model/**"],
    may: ["api/**", "agent/model/**"],
    pure: true,
    why: "Facts, and the strict parsers that let them in.",
  },
  {
    files: ["agent/plan/**"],
    may: ["api/**", "agent/model/**", "agent/plan/**"],
    pure: true,
    why: "Decides, and has no memory: same facts, same plan.",
  },
  {
    files: ["agent/backends/backend.ts"],
    may: ["api/**", "agent/plan/virtual-service.ts"],
    pure: true,
    why: "The seam: meaning in, kernel objects out.",
  },
  {
    files: [
      "agent/backends/*/{flavour,list,read,remove,restore,support,trial}.ts",
      "agent/backends/{iptables/iptables,ipvs/ipvs,nftables/nftables}.ts",
    ],
    may: [
      "./",
      "api/**",
      "common/**",
      "agent/backends/backend.ts",
      "agent/plan/virtual-service.ts",
      "agent/system/**",
    ],
    pure: false,
    why: "The part of a backend that touches the kernel, by way of agent/system.",
  },
  {
    files: ["agent/backends/*/*"],
    may: [
      "./",
      "api/**",
      "agent/backends/backend.ts",
      "agent/plan/virtual-service.ts",
      "agent/system/ipvs/object.ts",
      "node:crypto",
    ],
    pure: true,
    why: "The rest of a backend renders and compares. It knows no other backend; hashing is pure.",
  },
  {
    files: ["agent/sources/source.ts"],
    may: ["api/**", "agent/model/**"],
    pure: true,
    why: "What a source is.",
  },
  {
    files: ["agent/sources/*/*"],
    may: [
      "./",
      "api/**",
      "common/**",
      "agent/model/**",
      "agent/sources/source.ts",
      "node:buffer",
      "node:fs",
      "node:path",
      "node:util",
      "yaml",
    ],
    pure: false,
    why: "Turns what it reads into facts; decides nothing.",
  },
  {
    files: ["agent/conntrack/{concern,departure,judge,target,target-index,targets}.ts"],
    may: [
      "./",
      "api/**",
      "agent/plan/virtual-service.ts",
      "agent/system/conntrack/{entry,table}.ts",
    ],
    pure: true,
    why: "Which entries of connection tracking are wrong, by what is live.",
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
    why: "Walks through the table after the kernel has said yes, off the straight line.",
  },
  {
    files: ["agent/sync/**"],
    may: [
      "api/**",
      "common/**",
      "agent/backends/backend.ts",
      "agent/model/**",
      "agent/plan/**",
      "agent/sources/source.ts",
      "agent/sync/**",
      "node:util",
    ],
    pure: false,
    why: "The straight line from sources to kernel; knows no backend by name.",
  },
  {
    files: ["agent/preflight/preflight.ts"],
    may: ["./", "api/**", "common/**"],
    pure: false,
    why: "Looks at the node every minute, through the eyes it is given.",
  },
  {
    files: ["agent/preflight/**"],
    may: ["./", "api/**"],
    pure: true,
    why: "What to ask a node, and what its answers mean.",
  },
  {
    files: ["agent/config/**"],
    may: [
      "api/**",
      "common/config/**",
      "common/log.ts",
      "agent/backends/backend.ts",
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
    why: "Tells what was decided and done; nothing depends on it.",
  },
  {
    files: [
      "agent/system/netlink/{attributes,generic,message}.ts",
      "agent/system/conntrack/{encoding,entry,listing,table}.ts",
      "agent/system/{ipvs,link}/{encoding,object}.ts",
    ],
    may: ["./", "api/**", "agent/system/netlink/{attributes,generic,message}.ts"],
    pure: true,
    why: "What netlink and the program conntrack say, read strictly.",
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
    why: "What the controller believes, and the strict parsers that let it in.",
  },
  {
    files: ["controller/export/**"],
    may: ["./", "api/**", "controller/model/**"],
    pure: true,
    why: "What a ServiceExport publishes, and which endpoint goes into which slice.",
  },
  {
    files: ["controller/registry/**"],
    may: ["./", "api/**", "controller/model/**", "node:crypto"],
    pure: true,
    why: "How records lie in a registry, and what is believed of one. Hashing is pure.",
  },
  {
    files: ["controller/merge/**"],
    may: ["./", "api/**", "controller/model/**"],
    pure: true,
    why: "Makes one service of all exports of a name, and has no memory.",
  },
  {
    files: ["controller/allocate/**"],
    may: ["./", "api/**", "node:crypto"],
    pure: true,
    why: "Which VIP an import gets; remembers none. Hashing is pure.",
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
    why: "What an importing cluster should hold of a merged service, and what is told to exporters.",
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
    why: "Who is silent, and what is believed of a cluster that returns: the only decisions that time takes part in.",
  },
  {
    files: ["agent/command/**", "agent/main.ts"],
    may: ["api/**", "common/**", "agent/**", "node:os"],
    pure: false,
    why: "Builds the agent out of its parts; the only place that knows a backend by name.",
  },
  {
    files: ["controller/identity/**"],
    may: ["./", "api/**", "controller/model/**"],
    pure: true,
    why: "Who we are, who the others are, and who publishes under an id that two have.",
  },
  {
    files: ["controller/peers/parse-peer.ts"],
    may: ["api/**", "controller/model/parse-endpoint-cidrs.ts"],
    pure: true,
    why: "How a peer is reached, read strictly; what a Secret holds is shown nowhere.",
  },
  {
    files: ["controller/config/**"],
    may: [
      "./",
      "api/**",
      "common/config/**",
      "common/log.ts",
      "controller/allocate/pool.ts",
      "controller/liveness/{cluster-watch,lease-times}.ts",
    ],
    pure: false,
    why: "Arguments in, one frozen value out.",
  },
  {
    files: ["controller/stores/**"],
    may: [
      "./",
      "api/**",
      "common/clock.ts",
      "common/kubernetes/**",
      "controller/identity/**",
      "controller/liveness/**",
      "controller/model/**",
      "controller/registry/**",
      "node:crypto",
      "node:util",
    ],
    pure: false,
    why: "What is believed of each API server, as it comes.",
  },
  {
    files: ["controller/sync/**"],
    may: [
      "./",
      "api/**",
      "common/**",
      "controller/{allocate,config,export,identity,import,liveness,merge,model,peers,registry,stores}/**",
    ],
    pure: false,
    why: "The two straight lines, from what is believed to what is written.",
  },
  {
    files: ["controller/observe/**"],
    may: ["./", "api/**", "common/**", "controller/**", "prom-client"],
    pure: false,
    why: "Tells what was decided and done; nothing depends on it.",
  },
  {
    files: ["controller/command/**", "controller/main.ts"],
    may: ["api/**", "common/**", "controller/**", "node:crypto", "node:os"],
    pure: false,
    why: "Builds the controller out of its parts.",
  },
  {
    files: ["images/*/*"],
    may: ["./", "node:"],
    pure: false,
    why: "Programs of the lab's containers: each stands alone.",
  },
];

/** Programs and tests: they are started, never imported. */
export const PROGRAMS: readonly string[] = ["**/main.ts", "scripts/*.ts", "**/*.test.ts"];

/** Code that a pure file must not hold, and what it is. */
export const IMPURE: readonly { readonly what: string; readonly pattern: RegExp }[] = [
  { what: "the time of day", pattern: /\bDate\.now\b|\bDate\(\)/ },
  { what: "Math.random", pattern: /\bMath\.random\b/ },
  { what: "process", pattern: /\bprocess\s*[.[]/ },
  { what: "console", pattern: /\bconsole\s*[.[]/ },
  { what: "performance", pattern: /\bperformance\s*[.[]/ },
  { what: "globalThis", pattern: /\bglobalThis\b/ },
  { what: "a timer", pattern: /\b(setTimeout|setInterval|setImmediate|queueMicrotask)\s*\(/ },
  { what: "fetch", pattern: /\bfetch\s*\(/ },
  { what: "a module-level variable", pattern: /^(export )?(let|var) /m },
];

/**
 * The time of day, and the only files of our programs that may ask for it: to print it, or because somebody has written
 * until when a token is good. What waits or measures uses `Clock`, which nobody sets.
 */
export const TIME_OF_DAY = {
  pattern: /\bDate\.now\b|\b(new )?Date\(\)|\bsetToCurrentTime\b|\b(iso|epoch|unix)Time\b/,
  programs: ["api/**", "common/**", "agent/**", "controller/**"],
  may: [
    "common/log.ts",
    "common/kubernetes/credential-plugin.ts",
    "agent/observe/metrics.ts",
    "controller/command/run.ts",
  ],
} as const;

/** Words that name no noun, as a part of a file's or folder's name. */
export const EMPTY_WORDS = /(^|[-./])(utils?|helpers?|managers?|handlers?|misc)($|[-./])/;

/** Lines beyond which a file is several files. */
export const MOST_LINES = 400;
