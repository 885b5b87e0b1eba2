import { Code } from '../components/code.tsx'
import { CopyButton } from '../components/copy-button.tsx'
import { EditorLink } from '../components/editor-link.tsx'
import { Empty } from '../components/notice.tsx'
import type { AgentDetails } from './agent-query.ts'

interface DefinitionProps {
  readonly agent: AgentDetails
  /** Absolute; null where the page may not know it. */
  readonly projectDir: string | null
}

/** Text of the definition in service. */
export function Definition({ agent: { definition, file }, projectDir }: DefinitionProps) {
  if (definition === null) return <Empty title="This agent came from no file">It was registered by a program.</Empty>
  return (
    <section class="panel">
      <div class="panel-head">
        <h2>The version in service</h2>
        <EditorLink projectDir={projectDir} file={file} />
        <CopyButton text={definition} label="Copy" />
      </div>
      <Code text={definition} language="yaml" isNumbered />
    </section>
  )
}
