/** A chat of CopilotKit with a tool of the page and approvals: `?agent=<url>` asks the agent itself, without it the runtime beside the page does. */
import { HttpAgent } from '@ag-ui/client'
import { CopilotChat, CopilotKitProvider, useFrontendTool, useInterrupt } from '@copilotkit/react-core/v2'
import { createRoot } from 'react-dom/client'
import { z } from 'zod'

const url = new URLSearchParams(location.search).get('agent')
const way = url ? { selfManagedAgents: { default: new HttpAgent({ url }) } } : { runtimeUrl: '/api/copilotkit' }

function Chat() {
  useFrontendTool({
    name: 'location',
    description: 'Tells where the user is.',
    parameters: z.object({}),
    handler: async () => Intl.DateTimeFormat().resolvedOptions().timeZone,
  })
  useInterrupt({
    render: ({ interrupt, resolve }) => (
      <button type="button" onClick={() => resolve({ approved: true })}>
        Approve: {interrupt?.message}
      </button>
    ),
  })
  return <CopilotChat />
}

createRoot(document.querySelector('main')).render(
  <CopilotKitProvider {...way}>
    <Chat />
  </CopilotKitProvider>,
)
