/** A change of a manifest's text that makes it a template of Helm. */
export interface Edit {
  /** Text of the manifest, often a whole line. */
  readonly replace: string;
  readonly by: string;
  /** How often the text occurs; once by default. */
  readonly times?: number;
}

/** A template of a chart that is made of a manifest. */
export interface Template {
  /** Path of the manifest, below deploy/. */
  readonly source: string;
  /** Path of the template, below deploy/charts/. */
  readonly path: string;
  /** Condition of the whole template, as an expression of Helm. */
  readonly when?: string;
  /** A value with labels that users add to its objects. */
  readonly labels?: string;
  readonly edits?: readonly Edit[];
  /** True: a file that a template reads, and no template itself. */
  readonly isCopy?: true;
}

const LABELS = '    {{- include "clusterset-proxy.labels" $ | nindent 4 }}\n';

/**
 * The text of a template, made of the text of its manifest: edited, in the namespace of the release, with the labels of the
 * chart. Throws if a text to replace does not occur as often as it should. PURE.
 */
export function templateText(manifest: string, template: Template): string {
  const { source, when, labels, edits = [], isCopy = false } = template;
  if (isCopy) return manifest;
  const text = labelled(
    inRelease(edits.reduce((edited, edit) => replaced(edited, edit, source), literal(manifest))),
    labels,
  );
  const note = `{{- /* Made of deploy/${source} by scripts/charts.ts. */ -}}\n`;
  return when === undefined ? note + text : `${note}{{- if ${when} }}\n${text}{{- end }}\n`;
}

/** Templates of another program, such as those of alerts, are text to Helm. */
function literal(manifest: string): string {
  return manifest.replaceAll("{{", '{{ "{{" }}');
}

function replaced(text: string, { replace, by, times = 1 }: Edit, source: string): string {
  const parts = text.split(replace);
  if (parts.length === times + 1) return parts.join(by);
  throw new Error(`${source} contains ${parts.length - 1} times, not ${times}: ${replace}`);
}

/** Quoted, because a namespace can have the name of a number. */
function inRelease(text: string): string {
  return text.replaceAll(
    /(\bnamespace: )clusterset-proxy\b/g,
    (_, key: string) => `${key}{{ .Release.Namespace | quote }}`,
  );
}

/** With the chart's labels on each object, beside its own and those of this value. */
function labelled(text: string, value?: string): string {
  const given = `    {{- with ${value} }}\n    {{- toYaml . | nindent 4 }}\n    {{- end }}\n`;
  const labels = value === undefined ? LABELS : LABELS + given;
  const blocks = text.replaceAll(/^metadata: \{ (.*) \}$/gm, (_, fields: string) =>
    ["metadata:", ...fields.split(", ")].join("\n  "),
  );
  return blocks.replaceAll(/^metadata:\n(?: {2}.*\n)+/gm, (metadata) => {
    const own = /^ {2}labels: \{ (.*) \}\n/m;
    if (own.test(metadata)) {
      return metadata.replace(own, (_, pair: string) => `  labels:\n    ${pair}\n${labels}`);
    }
    if (!/^ {2}labels:\n/m.test(metadata)) return `${metadata}  labels:\n${labels}`;
    return metadata.replace(/^ {2}labels:\n/m, (line) => line + labels);
  });
}
