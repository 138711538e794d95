"""The expected contents of the knowledge base, written by hand: one line per claim.

`profile [distribution==version] outcome: symbols`. Outcomes: `context`, `driver` and `asks` (it wakes only
where the management library stays silent), `+env` where PYTORCH_NVML_BASED_CUDA_CHECK=1 softens it,
`+unless NAME` and `+if NAME` where an argument decides; `or` between several facts about one call;
`cold` for nothing at all. A method is written
`receiver@method`, an import `import module`, an attribute `read name`.
"""

EFFECTS = """
cuda context: torch.cuda.init torch.cuda._lazy_init torch.cuda.current_device torch.cuda.synchronize
cuda context: torch.cuda.StreamContext
cuda context: torch.cuda.get_device_name torch.cuda.get_device_capability torch.cuda.get_device_properties
rocm context: torch.cuda.get_device_capability torch.cuda.current_stream
rocm context+unless device: torch.cuda.set_device
xpu context+unless device: torch.xpu.set_device
rocm context: torch.cuda.cudart
xpu cold: torch.cuda.get_device_capability torch.cuda.is_available torch.cuda.device_count torch.cuda.Stream
cpu cold: torch.cuda.get_device_capability torch.cuda.is_available torch.xpu.is_available jax.devices
cpu cold: cupy.zeros
cuda driver+env: torch.cuda.is_available torch.accelerator.is_available
cuda torch==2.8.0+cu128 driver+env: torch.cuda.is_available torch.cuda.get_arch_list
cuda torch==2.8.0+cu128 driver+env: torch.cuda.get_gencode_flags
cuda torch==1.12.1 driver: torch.cuda.is_available torch.cuda.get_arch_list torch.cuda.device_count
cuda torch==1.13.1 driver: torch.cuda.is_available
cuda torch==1.13.1 asks: torch.cuda.device_count
cuda-without-nvml driver: torch.cuda.is_available torch.cuda.device_count torch.accelerator.device_count
cuda-without-nvml torch==2.0.1 driver: torch.cuda.is_available torch.cuda.device_count
cuda asks: torch.cuda.device_count torch.accelerator.device_count
rocm asks: torch.cuda.device_count
rocm torch==1.12.0 driver: torch.cuda.device_count
cuda torch==2.15.0 cold: torch.cuda.get_arch_list torch.cuda.memory_allocated torch.cuda.manual_seed
cuda torch==2.15.0 cold: torch.cuda.Event
cuda cold: torch.cuda.is_initialized torch.cuda.empty_cache torch.cuda.memory_stats torch.cuda.seed_all
cuda cold: torch.device torch.manual_seed torch.set_default_device torch.cuda.nvtx.range_push
cuda driver+env+unless backend+unless fullgraph+unless disable+if model: torch.compile
cuda driver+env+unless model+unless backend+unless fullgraph+unless disable: torch.compile()
cuda torch==2.3.1 context+unless backend+unless fullgraph+unless disable+if model: torch.compile
cuda torch==2.3.1 context+unless model+unless backend+unless fullgraph+unless disable: torch.compile()
cuda torch==2.8.0 driver+env+unless backend+unless fullgraph+unless disable+if model: torch.compile
cuda torch==2.6.0 cold: torch.compile torch.compile()
cuda torch==2.13.0 cold: torch.compile torch.compile()
cuda driver+env: import torch.utils.cpp_extension import diffusers import mmengine.device import mmcls
cuda driver+env: import torchao import clip import ImageReward import tvm_ffi import sat
cuda driver+env: import mmcv import mmdet import mmseg import mmdet3d import SwissArmyTransformer
cuda driver: import cpm_kernels import keopscore
cuda context: import quack import xformers.ops import unicore
cuda diffusers==0.35.2 cold: import diffusers
cuda mmcv==1.7.2 driver+env: import mmcv
cuda mmcv==2.2.0 cold: import mmcv
cuda mmdet==2.28.2 driver+env: import mmdet
cuda mmsegmentation==0.30.0 driver+env: import mmseg
cuda mmdet3d==1.0.0 driver+env: import mmdet3d
cuda quack-kernels==0.4.0 cold: import quack
cuda torchao==0.9.0 cold: import torchao
cuda driver+unless device: torch.get_device_module
cuda torch==2.6.0 driver+if device: torch.device
cuda torch==2.7.0 cold: torch.device
cuda cold: torch.accelerator.empty_cache torch.cuda.graph_pool_handle
cuda cold: torch.cuda.device
cuda driver: torch.cuda.CUDAGraph torch.cuda.MemPool torch.cuda.is_current_stream_capturing
cuda torch==2.15.0 driver: torch.cuda.use_mem_pool
cuda torch==2.8.0 context+unless device: torch.cuda.use_mem_pool
cuda context: torch.cuda.graph torch.cuda.caching_allocator_alloc torch.cuda.mem_get_info
cuda context: torch.cuda.memory.mem_get_info
cuda context: torch.cuda.profiler.start torch.cuda.get_rng_state torch.cuda.initial_seed torch.cuda.Stream
cuda context: torch.cuda.tunable.tune_gemm_in_file torch.backends.cudnn.rnn.init_dropout_state
cuda context: torch.cuda.is_bf16_supported torch.cuda.is_tf32_supported
rocm torch==2.8.0 cold: torch.cuda.is_bf16_supported
rocm torch==1.12.0 context: torch.cuda.is_bf16_supported
cuda context+unless device: torch.cuda.temperature torch.cuda.power_draw torch.cuda.utilization
cuda context+unless device: torch.accelerator.synchronize
cuda context+unless device: torch.cuda.reset_peak_memory_stats torch.cuda.list_gpu_processes
cuda context+unless device: torch.cuda.memory_summary
cuda torch==2.0.1 context+unless device: torch.cuda.memory_usage
cuda torch==2.8.0 context: torch.cuda.memory_usage torch.cuda.device_memory_used
rocm torch==2.0.1 context+unless device: torch.cuda.utilization
rocm torch==2.4.1 context: torch.cuda.memory_usage
rocm torch==2.8.0 context+unless device: torch.cuda.memory_usage torch.cuda.device_memory_used
cuda torch==2.15.0 context: torch.backends.cudnn.version
rocm torch==2.15.0 driver+env: torch.backends.cudnn.version torch.utils._triton.has_triton_cuda_tma_device
cuda torch==2.8.0 cold: torch.backends.cudnn.version
cuda context: torch.utils._triton.has_triton torch.utils._triton.has_triton_tma
cuda context: torch.utils._triton.has_triton_cuda_tma_device torch.utils._triton.triton_backend
rocm torch==2.8.0 context: torch.utils._triton.has_triton
rocm torch==2.15.0 driver+env: torch.utils._triton.has_triton
xpu driver: torch.utils._triton.has_triton torch.utils._triton.has_triton_stable_tma_api
xpu torch==2.8.0 cold: torch.utils._triton.has_triton_stable_tma_api torch.random.fork_rng
xpu context: torch.xpu.graph
cuda context: torch.accelerator.current_device_index torch.accelerator.get_device_capability
cuda context: torch.accelerator.get_memory_info
cuda context: torch.accelerator.random.get_rng_state
cuda torch==2.10.0 context+unless device_index: torch.accelerator.memory.reset_accumulated_memory_stats
cuda torch==2.0.1 context+unless devices+unless enabled+unless device_type: torch.random.fork_rng
cuda torch==2.8.0 context+unless devices+unless enabled+unless device_type: torch.random.fork_rng
cuda torch==2.13.0 context+unless devices+unless enabled+unless device_type: torch.random.fork_rng
xpu torch==2.13.0 context+unless devices+unless enabled+unless device_type: torch.random.fork_rng
cuda context: torch.cuda.device@__enter__ torch.cuda.graph@__enter__ torch.cuda.Event@record
cuda context: torch.cuda.Event@wait
cuda driver: ctypes.CDLL@cuInit ctypes.PyDLL@cuInit ctypes.cdll.LoadLibrary@cuInit
cuda driver: ctypes.pydll.LoadLibrary@cuInit ctypes.CDLL@cudaGetDeviceCount ctypes.CDLL@cudaGetDevice
cuda driver: ctypes.CDLL@cudaGetDeviceProperties ctypes.CDLL@cudaDeviceGetAttribute
cuda context: ctypes.CDLL@cuCtxCreate ctypes.CDLL@cuCtxCreate_v2 ctypes.CDLL@cuCtxCreate_v3
cuda context: ctypes.CDLL@cuCtxCreate_v4 ctypes.CDLL@cuDevicePrimaryCtxRetain
cuda cold: ctypes.CDLL@hipInit ctypes.CDLL@zeInit ctypes.CDLL@cuDeviceGetCount ctypes.CDLL@cuDriverGetVersion
rocm driver: ctypes.CDLL@hipInit ctypes.CDLL@hipGetDeviceCount
rocm cold: ctypes.CDLL@cuInit
xpu driver: ctypes.CDLL@zeInit ctypes.CDLL@zeInitDrivers
cuda context: torch.cuda.Event@ipc_handle torch.cuda.Event@from_ipc_handle torch.cuda.Stream@record_event
cuda context: torch.accelerator.device_index@__enter__ torch.accelerator.Graph@__enter__
cuda context: torch.backends.cudnn.rnn.CudnnRNNModule@init_dropout_state torch.cuda.GreenContext@Stream
cuda context: torch.cuda.GreenContext@pop_context torch.cuda.GreenContext@set_context
cuda context+unless device_id: torch.cuda.GreenContext@max_workqueue_concurrency torch.cuda.GreenContext@split
cuda context+unless device_id: torch.cuda.green_contexts.SMPartition@from_device
cuda cold: torch.cuda.Stream@wait_event torch.Tensor@xpu
xpu driver: torch.xpu.is_available torch.xpu.device_count torch.accelerator.is_available
xpu driver: torch.accelerator.device_count
xpu torch==2.6.0 driver: torch.xpu.get_arch_list torch.xpu.get_gencode_flags torch.accelerator.device_count
xpu torch==2.8.0 driver: torch.xpu.is_bf16_supported
xpu context: torch.xpu.init torch.xpu.current_device torch.xpu.get_device_properties torch.xpu.Stream
xpu context: torch.xpu.StreamContext
xpu context: torch.xpu.get_rng_state torch.xpu.make_graphed_callables
xpu context: torch.xpu.set_per_process_memory_fraction
xpu context: torch.xpu.device@__enter__ torch.xpu.graph@__enter__ torch.xpu.Event@record torch.xpu.Event@wait
xpu context: torch.xpu.Stream@record_event torch.Tensor@xpu
xpu context+unless device: torch.xpu.temperature torch.xpu.reset_peak_memory_stats torch.xpu.use_mem_pool
xpu torch==2.8.0 context+unless device: torch.xpu.mem_get_info
xpu torch==2.15.0 context: torch.xpu.mem_get_info
xpu cold: torch.xpu.is_initialized torch.xpu.manual_seed torch.xpu.memory_allocated
cuda context: torch._C._cuda_init torch._C._cuda_setDevice torch._C._accelerator_getStream
cuda driver: torch._C._cuda_getDeviceCount torch._C._show_config torch.__config__.show
xpu context: torch._C._xpu_init
xpu driver: torch._C._xpu_getDeviceCount
cuda cold: torch._C._cuda_isInBadFork torch._C._graph_pool_handle torch._C._xpu_init
cuda context+if device: torch.zeros torch.empty torch.tensor torch.randn torch.arange torch.nn.Linear
cuda context+if device: torch.nn.modules.linear.Linear
xpu context+if device: torch.zeros torch.nn.Linear
cpu cold: torch.zeros torch.nn.Linear
cuda context+if device: torch.Tensor@to torch.nn.Module@to torch.Tensor@new_zeros
cuda context: torch.Tensor@cuda torch.nn.Module@cuda torch.Tensor@pin_memory torch.cuda.FloatTensor
cuda context: torch.Stream
cuda driver+if device: torch.Generator
cuda context+if map_location: torch.load
cuda context+if with_cuda or context+unless with_cuda+if sources: torch.utils.cpp_extension.load
cuda context+if with_cuda or context+unless with_cuda+if cuda_sources: torch.utils.cpp_extension.load_inline
rocm context+if with_cuda: torch.utils.cpp_extension.load
cuda context: torch.utils.collect_env.get_env_info
cuda torch==2.8.0 driver+env+unless enabled+if device_type: torch.autocast torch.amp.autocast_mode.autocast
cuda torch==2.4.1 driver+env+unless enabled+if device_type: torch.autocast
cuda torch==2.8.0 driver+env+unless enabled: torch.cuda.amp.autocast torch.cuda.amp.GradScaler
cuda driver+env+unless device: torch.amp.GradScaler
cuda cold: torch.amp.custom_fwd torch.cuda.amp.custom_bwd
cuda triton==3.3.1 driver+env+unless do_bench: triton.autotune triton.runtime.autotuner.Autotuner
cuda triton==3.4.0 cold: triton.autotune
cuda triton==3.1.0 cold: triton.autotune
cuda cold: triton.jit triton.heuristics triton.Config triton.cdiv triton.language.constexpr
cuda driver+env: triton.runtime.driver._create_driver
cuda triton==3.3.1 driver+env: read triton.runtime.driver.active.utils triton.runtime.driver._create_driver
cuda triton==3.7.1 driver+env: read triton.runtime.driver.active
cuda driver+env: triton.backends.nvidia.driver.CudaDriver.is_active read triton.runtime.driver.active.utils
cuda context+env: triton.jit@__getitem__() triton.jit@run triton.jit@warmup
cuda cold: triton.jit@cache_key
cuda triton==3.3.1 cold: read triton.runtime.driver.active
cuda triton==3.9.0 driver+env: read triton.runtime.driver.active
cuda context: triton.runtime.driver.active.get_current_target triton.testing.do_bench
cuda driver: cuda.bindings.driver.cuInit cuda.cuda.cuInit cuda.bindings.runtime.cudaGetDeviceCount
cuda driver: cuda.core.Device
cuda context: cuda.bindings.driver.cuCtxCreate cuda.bindings.driver.cuDevicePrimaryCtxRetain
cuda context: cuda.core.Device@set_current
cuda context: cuda.bindings.runtime.cudaSetDevice cuda.bindings.runtime.cudaMalloc cuda.cudart.cudaFree
cuda cold: cuda.bindings.driver.cuDriverGetVersion cuda.bindings.runtime.cudaRuntimeGetVersion
cuda cold: cuda.bindings.nvrtc.nvrtcVersion
rocm cold: cuda.bindings.driver.cuInit cuda.core.Device numba.cuda.is_available
cuda nvidia-cutlass-dsl-libs-base==4.5.0 driver: import cutlass
cuda nvidia-cutlass-dsl-libs-base==4.3.0 cold: import cutlass
cuda driver: cutlass.base_dsl.runtime.cuda.get_compute_capability_major_minor
cuda context: cutlass.base_dsl.runtime.cuda.initialize_cuda_context
jax-gpu context: jax.devices jax.device_count jax.default_backend jax.numpy.zeros jax.numpy.float32
jax-gpu context: jax.random.PRNGKey
jax-gpu context: jax.random.key jax.device_put jax.lax.iota
jax-gpu driver: jax.distributed.initialize
jax-gpu cold: jax.jit jax.vmap jax.numpy.dtype jax.numpy.finfo jax.numpy.issubdtype jax.tree_util.tree_map
jax-gpu cold: jax.random.key_impl jax.numpy.isrealobj jax.numpy.reshape jax.lax.Precision
jax-gpu context: jax.jit() jax.grad() jax.vmap() jax.numpy.vectorize() jax.jit@lower jax.linearize
jax-gpu context: jax.debug.print jax.lax.add jax.lax.scan jax.nn.relu jax.scipy.special.erf
jax-gpu context: jax.nn.initializers.zeros jax.dlpack.from_dlpack jax.flatten_util.ravel_pytree
jax-gpu cold: jax.nn.initializers.normal jax.lax.stop_gradient jax.grad jax.custom_jvp() jax.jit@trace
jax-gpu cold: jax.eval_shape() jax.make_jaxpr() jax.named_call() jax.closure_convert
jax-gpu context: flax.nnx.Rngs flax.nnx.jit() flax.nnx.vmap() haiku.PRNGSequence
jax-gpu cold: flax.nnx.jit flax.nnx.Param flax.linen.Dense haiku.transform equinox.nn.Dropout
jax-gpu context: equinox.nn.LayerNorm equinox.filter_jit() equinox.filter_vmap()
jax-gpu cold: equinox.filter_jit equinox.filter_checkpoint() equinox.filter_eval_shape
cuda cold: jax.jit() flax.nnx.Rngs equinox.nn.LayerNorm haiku.PRNGSequence
cuda cold: jax.devices jax.numpy.zeros jax.random.PRNGKey
cuda context: cupy.zeros cupy.array cupy.arange cupy.random.rand cupy.cuda.runtime.setDevice
cuda context: cupy.cuda.Device@use
cuda driver: cupy.is_available cupy.cuda.runtime.getDeviceCount
cuda driver+unless device: cupy.cuda.Device
cuda cold: cupy.dtype cupy.float32 cupy.get_array_module cupy.RawKernel cupy.ElementwiseKernel
cuda driver: numba.cuda.is_available read numba.cuda.gpus.current
cuda context: numba.cuda.get_current_device numba.cuda.device_array numba.cuda.to_device
cuda context+if func_or_sig: numba.cuda.jit()
cuda context+if target: numba.vectorize()
cuda context: numba.cuda.require_context()
cuda context+unless device: ultralytics.utils.torch_utils.select_device
cuda context: ultralytics.utils.torch_utils.get_gpu_info import bitsandbytes
cuda bitsandbytes==0.43.0 driver+env: import bitsandbytes
cuda driver+env: transformers.utils.is_torch_cuda_available transformers.utils.is_flash_attn_2_available
cuda driver+env: transformers.utils.import_utils.is_flash_attn_3_available
cuda driver+env: sentence_transformers.util.get_device_name
cuda transformers==4.40.2 driver+env: transformers.utils.is_bitsandbytes_available
cuda transformers==4.40.2 cold: transformers.utils.is_flash_attn_3_available
cuda context+unless device+unless device_map or context+unless device+if device or \
context+if device_map: transformers.pipeline
cuda transformers==4.40.2 context+unless device+if device or context+if device_map: transformers.pipeline
cuda context: transformers.utils.is_torch_bf16_gpu_available accelerate.utils.is_bf16_available
cuda context+if device_map: transformers.AutoModel.from_pretrained
cuda context+unless device or context+if device: sentence_transformers.SentenceTransformer
cuda cold: transformers.utils.is_torch_available transformers.utils.is_bitsandbytes_available
cpu cold: transformers.pipeline sentence_transformers.SentenceTransformer
cuda context: cupy.RawModule@get_function cupy.RawKernel@compile read cupy.RawKernel().num_regs
cuda context: read cupy.RawModule().module cupy.RawKernel() cupy.ElementwiseKernel()
cuda context: cupy.cuda.MemoryPool@malloc
cuda context: cupy.cuda.runtime.setDevice cupy.cuda.runtime.memGetInfo cupy.cuda.runtime.deviceSetLimit
cuda context: cupy_backends.cuda.api.runtime.malloc cupy.cuda.device.get_cublas_handle cupy.cuda.Event
cuda context: read cupy.cuda.Device().compute_capability cupy.random.RandomState cupyx.empty_pinned
cuda context+unless null+unless ptds: cupy.cuda.Stream
cuda context+if fraction or driver+unless fraction: cupy.cuda.MemoryPool@set_limit
cuda driver: cupy.cuda.MemoryPool@get_limit cupy.cuda.MemoryPool@used_bytes read cupy.cuda.Device().pci_bus_id
cuda driver: cupy.cuda.runtime.deviceCanAccessPeer cupy.cuda.runtime.driverGetVersion
cuda driver: cupy_backends.cuda.api.runtime.getDeviceCount cupy.cuda.get_current_stream
cuda driver: cupy.cuda.MemoryAsyncPool
cuda cold: cupy.cuda.runtime.runtimeGetVersion cupy.RawModule cupy.RawKernel cupy.cuda.MemoryPool
cuda cold: cupy.RawModule@foo read cupy.RawKernel().name cupy.cuda.set_allocator cupy.cuda.ExternalStream
cuda context: numba.cuda.jit@__getitem__() numba.cuda.jit@compile numba.cuda.compile_for_current_device
cuda context+unless target+if ftylist_or_function: numba.cuda.vectorize()
cuda cold: numba.cuda.jit@__getitem__ numba.cuda.compile_ptx numba.cuda.declare_device
cuda cold: numba.njit numba.cuda.grid numba.cuda.jit numba.vectorize numba.cuda.require_context
cuda context: import pycuda.autoinit pycuda.tools.make_default_context pycuda.driver.Device@make_context
cuda driver: pycuda.driver.init
cuda driver: pyopencl.get_platforms pyopencl.Platform@get_devices
xpu context: pyopencl.create_some_context pyopencl.array.zeros
cpu cold: pyopencl.get_platforms
cpu driver: pyopencl.Platform@get_devices
cpu context: pyopencl.create_some_context pyopencl.Context
cpu driver: pyopencl.tools.get_test_platforms_and_devices pyopencl.cffi_cl.Platform@get_devices
cuda driver: pyopencl.cffi_cl.get_platforms pyopencl.tools.get_pyopencl_fixture_arg_values
cuda cold: pyopencl.tools.get_gl_sharing_context_properties pyopencl.get_cl_header_version
cuda context: warp.init warp.zeros warp.launch warp._src.context.init warp.context.Runtime
cuda context+if data or context+if shape: warp.array warp.array2d
cuda cold: warp.kernel warp.func warp.constant import warp warp.vec3
rocm cold: warp.init
cuda context: rmm.reinitialize rmm.rmm.reinitialize rmm.mr.PoolMemoryResource rmm.mr.available_device_memory
cuda context: rmm.DeviceBuffer.to_device
cuda context+if size or driver+unless size: rmm.DeviceBuffer
cuda driver: rmm.mr.get_current_device_resource rmm._cuda.gpu.getDeviceCount
cuda context+unless obj: rmm.pylibrmm.stream.Stream
cuda driver+env: import rmm.allocators.torch
cuda cold: import rmm import rmm.mr rmm.mr.CudaMemoryResource rmm.mr.ManagedMemoryResource rmm.is_initialized
cuda cudf-cu12==25.8.0 driver: import cudf
cuda cudf-cu12==25.10.0 cold: import cudf
cuda cold: import cudf cudf.set_option
cuda context: cudf.Series cudf.DataFrame cudf.read_csv cudf.pandas.install
cuda context: cuml.KMeans@fit cuml.make_blobs
cuda context+unless disable_uvm: cuml.accel.install
cuda cold: import cuml cuml.KMeans cuml.set_global_output_type
cuda driver: import cugraph.datasets
cuda context: cugraph.from_pandas_edgelist cugraph.Graph@from_pandas_edgelist
cuda cold: import cugraph cugraph.Graph
cuda driver: nvmath.device.current_device_lto
cuda context: nvmath.linalg.advanced.matmul nvmath.distributed.initialize nvmath.bindings.cublas.create
cuda cold: import nvmath nvmath.fft.fft
cuda context: cuquantum.tensornet.contract cuquantum.pauliprop.experimental.LibraryHandle
cuda cold: import cuquantum
cuda context+if providers: onnxruntime.InferenceSession
rocm context+if providers: onnxruntime.InferenceSession
cuda cold: import onnxruntime onnxruntime.get_available_providers onnxruntime.SessionOptions
cuda driver: import paddle paddle.device.cuda.device_count paddle.base.core.init_devices
cuda paddlepaddle-gpu==2.5.2 cold: import paddle
cuda cold: paddle.is_compiled_with_cuda
cuda driver: mxnet.context.num_gpus
cuda context: mxnet.context.gpu_memory_info
cuda context+if ctx: mxnet.nd.array
cuda cold: import mxnet mxnet.gpu mxnet.cpu
cuda context+if arch: taichi.init
cuda cold: import taichi taichi.kernel
cuda context: tensorrt.Builder tensorrt.Runtime
cuda cold: import tensorrt tensorrt.Logger
cuda driver: tensorflow.config.list_physical_devices
cuda context: tensorflow.constant tensorflow.test.is_gpu_available
cuda tensorflow==1.15.0 cold: tensorflow.constant
cuda cold: tensorflow.function tensorflow.TensorSpec
cuda driver+env: deepspeed.initialize
cuda deepspeed==0.16.3 driver+env: import deepspeed
cuda deepspeed==0.16.4 driver+env or context: import deepspeed
cuda deepspeed==0.19.2 driver+env or context: import deepspeed
rocm deepspeed==0.19.2 driver+env: import deepspeed
cuda deepspeed==0.19.3 asks: import deepspeed
cuda asks: import deepspeed
cuda-without-nvml driver: import deepspeed
cuda bitsandbytes==0.41.0 context: import bitsandbytes
cuda bitsandbytes==0.45.0 context: import bitsandbytes
cuda flashinfer-python==0.6.8 context: import flashinfer flashinfer.compilation_context.CompilationContext
cuda context: flashinfer.utils.get_compute_capability
cuda driver+env: import sglang import tilelang import xgrammar import speechbrain import colbert import flair
cuda driver+env: import liger_kernel.transformers import liger_kernel.ops.cross_entropy import dgl.graphbolt
cuda driver+env: import fbgemm_gpu import nunchaku import diffsynth.core import tvm_ffi import jax_tvm_ffi
cuda driver+env+if check_available: torch.accelerator.current_accelerator
cuda accelerate==0.21.0 driver+env: import accelerate
cuda accelerate==1.15.0 cold: import accelerate
cuda driver+env+unless cpu: accelerate.Accelerator accelerate.state.PartialState
cuda context: import ts.torch_handler.base_handler
cuda driver: import thunder import thinc import spacy import presidio_analyzer
cuda context: import gptqmodel import fla import fla.utils import torchsparse import exllamav2 import xfuser
cuda context: import torchtune import kaolin import tinycudann
cuda lightning-thunder==0.1.0 cold: import thunder
cuda torchsparse==1.4.0 cold: import torchsparse
cuda xgrammar==0.1.30 cold: import xgrammar
cuda speechbrain==1.0.1 cold: import speechbrain
cuda kaolin==0.15.0 cold: import kaolin
rocm driver+env: import flair import fbgemm_gpu
rocm cold: import gptqmodel import dgl.graphbolt
cuda driver+env: import verl import natten import optimum.quanto import tvm import tutel.moe import mmpose
cuda driver+env: import cutlass.base_dsl.tvm_ffi_builder import cutlass.cute._tvm_ffi_args_spec_converter
cuda context: import exllamav3 import mamba_ssm
cuda mmpose==0.29.0 driver+env: import mmpose
cuda mmpose==1.3.2 cold: import mmpose
cuda mmaction2==0.24.1 driver+env: import mmaction
cuda apache-tvm==0.21.0 cold: import tvm
cuda nvidia-cutlass-dsl-libs-base==4.5.0 cold: import cutlass.base_dsl.tvm_ffi_builder
cuda context: import transformer_engine.pytorch transformer_engine.pytorch.utils.get_device_compute_capability
cuda cold: pynvml.nvmlDeviceGetCount vllm.third_party.pynvml.nvmlDeviceGetName
cuda cold: amdsmi.amdsmi_get_processor_handles
"""

#: `profile name: expected`, where expected is a constant, `None`, or `set`; `?` for unknown.
VALUES = """
cuda torch.version.hip: None
rocm torch.version.hip: set
cuda torch.version.cuda: set
rocm torch.version.cuda: None
cpu torch.version.cuda: ?
xpu torch.version.xpu: set
cuda torch.version.xpu: None
cuda torch.cuda.is_initialized(): False
cuda torch._C._cuda_isInBadFork(): False
cuda torch.cuda.is_available(): True
rocm torch.cuda.is_available(): True
xpu torch.cuda.is_available(): False
cpu torch.cuda.is_available(): False
cuda torch.cuda.device_count(): set
xpu torch.cuda.device_count(): 0
xpu torch.xpu.device_count(): set
cuda torch.xpu.device_count(): 0
cuda torch.backends.cudnn.is_available(): True
cuda torch.xpu.is_available(): False
xpu torch.xpu.is_available(): True
cuda torch.accelerator.is_available(): True
cuda torch.accelerator.current_accelerator().type: 'cuda'
cpu torch.accelerator.is_available(): False
cuda torch.backends.mps.is_available(): False
cpu torch.backends.mps.is_available(): ?
cuda torch.distributed.is_initialized(): False
cuda torch.distributed.is_available(): True
cuda torch.jit.is_scripting(): False
rocm torch.utils.cpp_extension.IS_HIP_EXTENSION: True
cuda torch.utils.cpp_extension.ROCM_HOME: None
cuda triton.runtime.driver.active.get_current_target().backend: 'cuda'
rocm triton.runtime.driver.active.get_current_target().backend: 'hip'
cuda torch.utils.cpp_extension.IS_WINDOWS: False
cuda typing.TYPE_CHECKING: False
cpu typing.TYPE_CHECKING: False
cuda sys.platform: 'linux'
cpu sys.platform: ?
cuda platform.system(): 'Linux'
cuda os.name: 'posix'
cuda pynvml.nvmlDeviceGetCount(): set
rocm amdsmi.amdsmi_get_processor_handles(): set
cuda amdsmi.amdsmi_get_processor_handles(): None
jax-gpu jax.default_backend(): 'gpu'
jax-gpu jax.distributed.is_initialized(): False
"""

#: Makers of functions: the keyword of what they wrap, and whether the function made returns what that does.
WRAPS = """
fn other: triton.jit
fun same: jax.jit jax.checkpoint jax.named_call jax.custom_jvp jax.custom_vjp flax.nnx.jit equinox.filter_jit
fun other: jax.grad jax.vmap jax.pmap jax.hessian jax.custom_gradient equinox.filter_grad
f same: flax.nnx.remat
f other: jax.shard_map flax.nnx.grad
pyfunc other: jax.numpy.vectorize
func_or_sig other: numba.cuda.jit
none: jax.eval_shape jax.make_jaxpr numba.njit
"""
