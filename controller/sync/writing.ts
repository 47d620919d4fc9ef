import type { ApiWriterOptions } from "../../common/kubernetes/writer.ts";

/** How an API server is written to, whoever does it. */
export type Writing = Omit<ApiWriterOptions, "fieldManager">;
