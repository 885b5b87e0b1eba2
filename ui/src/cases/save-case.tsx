import { useEffect, useState } from 'preact/hooks'
import { useQuery } from '../api.ts'
import { Command } from '../components/command.tsx'
import { Notice } from '../components/notice.tsx'
import { AskButton } from '../questions/ask-button.tsx'
import { saveTape } from '../save-tape.ts'

const QUERY = 'query($id: String!) { run(run_id: $id) { has_tape } evals(first: 1) { case_files } }'
/** A tape is written a moment after the end of its run. */
const RETRY_MS = 500
const FIRST_FILE = 'evals/cases.jsonl'

interface QueryData {
  readonly run: { readonly has_tape: boolean } | null
  readonly evals: { readonly case_files: readonly string[] }
}

/** Offers a recorded run as a case of an eval: the command that adds it, and its tape. */
export function SaveCase({ runId }: { runId: string }) {
  const { data, error, reload } = useQuery<QueryData>(QUERY, { id: runId })
  useEffect(() => {
    if (!data || data.run?.has_tape) return
    const timer = setTimeout(reload, RETRY_MS)
    return () => clearTimeout(timer)
  }, [data])
  const [chosen, setFile] = useState<string>()
  const [failure, setFailure] = useState('')
  const problem = error ?? failure
  if (problem) return <Notice kind="bad" title={problem} />
  if (!data) return null
  if (!data.run?.has_tape) {
    return <Notice kind="warn" title="There is no tape of this run: agent-host dev records them, and serve --record" />
  }
  const files = data.evals.case_files
  const file = chosen ?? files[0] ?? FIRST_FILE
  return (
    <>
      <label class="save-name">
        <span>File of cases</span>
        <input list="case-files" value={file} onInput={({ currentTarget }) => setFile(currentTarget.value)} />
        <datalist id="case-files">
          {files.map((each) => (
            <option key={each} value={each} />
          ))}
        </datalist>
      </label>
      <Command text={`agent-host runs save ${runId} --case ${file}`} />
      <AskButton label="Save as case" request={{ action: 'save_case', run_id: runId, file }} />
      <p class="muted">
        It adds the question, the answer and the calls of tools. Edit the row until it says what you expect.
      </p>
      <p>
        <button
          type="button"
          class="link"
          onClick={() => void saveTape(runId, `${runId}.jsonl.gz`).catch((reason: Error) => setFailure(reason.message))}
        >
          Download its tape
        </button>
      </p>
    </>
  )
}
