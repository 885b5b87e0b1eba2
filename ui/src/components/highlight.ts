import type { HLJSApi, Language } from 'highlight.js'
import hljs from 'highlight.js/lib/core'
import bash from 'highlight.js/lib/languages/bash'
import json from 'highlight.js/lib/languages/json'
import python from 'highlight.js/lib/languages/python'
import typescript from 'highlight.js/lib/languages/typescript'
import yaml from 'highlight.js/lib/languages/yaml'
import { escapeHtml } from './escape-html.ts'

const MAX_HIGHLIGHTED = 20_000
/** A text of several lines, to the last one that is indented as far: empty ones do not end it. */
const YAML_BLOCK = /[|>]([1-9]?[+-])?[ ]*\n( +)[^ ][^\n]*(?:\n|$)(?:\2[^\n]*(?:\n|$)|[ ]*\n)*/
/** Values that are no texts, as YAML 1.2 reads them: `no` is one. */
const YAML_LITERAL = /(?<=[:-] +|[,[{] *)(?:true|false|null|~)(?= *(?:$|[,\]}#]))/

for (const [name, language] of Object.entries({ bash, json, python, typescript, yaml: correctedYaml })) {
  hljs.registerLanguage(name, language)
}
// A grammar of its own would say the same at twice the size.
hljs.registerAliases(['javascript', 'js', 'jsx'], { languageName: 'typescript' })

/** Highlights code, as HTML; plain where the language is not known. */
export function highlight(code: string, language: string): string {
  if (!hljs.getLanguage(language) || code.length > MAX_HIGHLIGHTED) return escapeHtml(code)
  return hljs.highlight(code, { language, ignoreIllegals: true }).value
}

/** The grammar takes words of texts for values, and the second paragraph of a text for keys. Its parts are shared: they change in place. */
function correctedYaml(api: HLJSApi): Language {
  const grammar = yaml(api)
  for (const mode of grammar.contains) {
    if (mode === 'self') continue
    if (mode.beginKeywords) {
      Object.assign(mode, { beginKeywords: undefined, keywords: undefined, className: 'literal', begin: YAML_LITERAL })
    }
    if (String(mode.begin).startsWith('[\\|>]')) mode.begin = YAML_BLOCK
  }
  return grammar
}
