"""Generated from stubs and schemas of torch 2.13.0 by tools/derive_tensors.py; do not edit.

Sources: torch/_C/_VariableFunctions.pyi, torch/_C/__init__.pyi (class TensorBase and the old tensor types),
torch/_C/_nn.pyi, torch/nn/functional.pyi, the schemas of operators that have no stub, torch/utils/_device.py.
Every overload of them returns a tensor, or several: what is taken out of those, and used as one, is a tensor.
"""

# fmt: off
# ruff: noqa: SIM905
from __future__ import annotations

FUNCTIONS = frozenset("""
BFloat16Tensor BoolTensor ByteTensor CharTensor DoubleTensor FloatTensor HalfTensor IntTensor LongTensor
ShortTensor abs abs_ absolute acos acos_ acosh acosh_ adaptive_avg_pool1d adaptive_max_pool1d add addbmm
addcdiv addcmul addmm addmv addmv_ addr adjoint affine_grid_generator alias_copy all alpha_dropout
alpha_dropout_ amax amin aminmax angle any arange arccos arccos_ arccosh arccosh_ arcsin arcsin_ arcsinh
arcsinh_ arctan arctan2 arctan_ arctanh arctanh_ argmax argmin argsort argwhere as_strided as_strided_
as_strided_copy as_strided_scatter as_tensor asarray asin asin_ asinh asinh_ atan atan2 atan_ atanh atanh_
atleast_1d atleast_2d atleast_3d avg_pool1d baddbmm bartlett_window batch_norm batch_norm_backward_elemt
batch_norm_backward_reduce batch_norm_elemt batch_norm_gather_stats batch_norm_gather_stats_with_counts
batch_norm_stats batch_norm_update_stats bernoulli bilinear binary_cross_entropy_with_logits bincount binomial
bitwise_and bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor blackman_window
block_diag bmm broadcast_tensors broadcast_to bucketize cartesian_prod cat ccol_indices_copy cdist ceil ceil_
celu celu_ chain_matmul channel_shuffle cholesky cholesky_inverse cholesky_solve choose_qparams_optimized
chunk clamp clamp_ clamp_max clamp_max_ clamp_min clamp_min_ clip clip_ clone col_indices_copy column_stack
combinations complex concat concatenate conj conj_physical conj_physical_ constant_pad_nd conv1d conv2d conv3d
conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d convolution copysign corrcoef cos cos_ cosh cosh_
cosine_embedding_loss cosine_similarity count_nonzero cov cross crow_indices_copy ctc_loss
cudnn_affine_grid_generator cudnn_batch_norm cudnn_convolution cudnn_convolution_add_relu
cudnn_convolution_relu cudnn_convolution_transpose cudnn_grid_sampler cummax cummin cumprod cumsum
cumulative_trapezoid deg2rad deg2rad_ dequantize det detach detach_ detach_copy diag diag_embed diagflat
diagonal diagonal_copy diagonal_scatter diff digamma dist div divide dot dropout dropout_ dsmm dsplit dstack
einsum embedding embedding_bag embedding_renorm_ empty empty_like empty_permuted empty_quantized empty_strided
eq erf erf_ erfc erfc_ erfinv exp exp2 exp2_ exp_ expand_copy expm1 expm1_ eye
fake_quantize_per_channel_affine fake_quantize_per_tensor_affine fbgemm_linear_fp16_weight
fbgemm_linear_fp16_weight_fp32_activation fbgemm_linear_int8_weight fbgemm_linear_int8_weight_fp32_activation
fbgemm_pack_gemm_matrix_fp16 fbgemm_pack_quantized_matrix feature_alpha_dropout feature_alpha_dropout_
feature_dropout feature_dropout_ fft.fft fft.fft2 fft.fftfreq fft.fftn fft.fftshift fft.hfft fft.hfft2
fft.hfftn fft.ifft fft.ifft2 fft.ifftn fft.ifftshift fft.ihfft fft.ihfft2 fft.ihfftn fft.irfft fft.irfft2
fft.irfftn fft.rfft fft.rfft2 fft.rfftfreq fft.rfftn fill fill_ fix fix_ flatten flip fliplr flipud
float_power floor floor_ floor_divide fmax fmin fmod frac frac_ frexp frobenius_norm from_file from_numpy
frombuffer full full_like fused_moving_avg_obs_fake_quant gather gcd gcd_ ge geqrf ger gradient greater
greater_equal grid_sampler grid_sampler_2d grid_sampler_3d group_norm gru gru_cell gt hamming_window
hann_window hardshrink hash_tensor heaviside hinge_embedding_loss histc histogram histogramdd hsmm hsplit
hspmm hstack hypot i0 i0_ igamma igammac imag index_add index_copy index_fill index_put index_put_
index_reduce index_select indices_copy inner instance_norm int_repr inverse isclose isfinite isin isinf isnan
isneginf isposinf isreal istft kaiser_window kl_div kron kthvalue layer_norm lcm lcm_ ldexp ldexp_ le lerp
less less_equal lgamma linalg.cholesky linalg.cholesky_ex linalg.cond linalg.cross linalg.det linalg.diagonal
linalg.eig linalg.eigh linalg.eigvals linalg.eigvalsh linalg.householder_product linalg.inv linalg.inv_ex
linalg.ldl_factor linalg.ldl_factor_ex linalg.ldl_solve linalg.lstsq linalg.lu linalg.lu_factor
linalg.lu_factor_ex linalg.lu_solve linalg.matmul linalg.matrix_exp linalg.matrix_norm linalg.matrix_power
linalg.matrix_rank linalg.multi_dot linalg.norm linalg.pinv linalg.qr linalg.slogdet linalg.solve
linalg.solve_ex linalg.solve_triangular linalg.svd linalg.svdvals linalg.tensorinv linalg.tensorsolve
linalg.vander linalg.vecdot linalg.vector_norm linspace log log10 log10_ log1p log1p_ log2 log2_ log_
log_softmax logaddexp logaddexp2 logcumsumexp logdet logical_and logical_not logical_or logical_xor logit
logit_ logspace logsumexp lstm lstm_cell lt lu_solve lu_unpack margin_ranking_loss masked_fill masked_scatter
masked_select matmul matrix_exp matrix_power max max_pool1d max_pool1d_with_indices max_pool2d max_pool3d
maximum mean median meshgrid min minimum miopen_batch_norm miopen_convolution miopen_convolution_add_relu
miopen_convolution_relu miopen_convolution_transpose miopen_ctc_loss miopen_depthwise_convolution miopen_rnn
mkldnn_adaptive_avg_pool2d mkldnn_convolution mkldnn_linear_backward_weights mkldnn_max_pool2d
mkldnn_max_pool3d mkldnn_rnn_layer mm mode moveaxis movedim msort mul multinomial multiply mv mvlgamma
nan_to_num nan_to_num_ nanmean nanmedian nanquantile nansum narrow narrow_copy native_batch_norm
native_channel_shuffle native_dropout native_group_norm native_layer_norm native_norm ne neg neg_ negative
negative_ nextafter nn.functional.adaptive_avg_pool1d nn.functional.adaptive_avg_pool2d
nn.functional.adaptive_avg_pool3d nn.functional.adaptive_max_pool1d
nn.functional.adaptive_max_pool1d_with_indices nn.functional.adaptive_max_pool2d
nn.functional.adaptive_max_pool2d_with_indices nn.functional.adaptive_max_pool3d
nn.functional.adaptive_max_pool3d_with_indices nn.functional.affine_grid nn.functional.alpha_dropout
nn.functional.avg_pool1d nn.functional.avg_pool2d nn.functional.avg_pool3d nn.functional.batch_norm
nn.functional.bilinear nn.functional.binary_cross_entropy nn.functional.binary_cross_entropy_with_logits
nn.functional.celu nn.functional.celu_ nn.functional.channel_shuffle nn.functional.conv1d nn.functional.conv2d
nn.functional.conv3d nn.functional.conv_tbc nn.functional.conv_transpose1d nn.functional.conv_transpose2d
nn.functional.conv_transpose3d nn.functional.cosine_embedding_loss nn.functional.cosine_similarity
nn.functional.cross_entropy nn.functional.ctc_loss nn.functional.dropout nn.functional.dropout1d
nn.functional.dropout2d nn.functional.dropout3d nn.functional.elu nn.functional.elu_ nn.functional.embedding
nn.functional.embedding_bag nn.functional.feature_alpha_dropout nn.functional.fold
nn.functional.fractional_max_pool2d nn.functional.fractional_max_pool2d_with_indices
nn.functional.fractional_max_pool3d nn.functional.fractional_max_pool3d_with_indices
nn.functional.gaussian_nll_loss nn.functional.gelu nn.functional.glu nn.functional.grid_sample
nn.functional.group_norm nn.functional.grouped_mm nn.functional.gumbel_softmax nn.functional.hardshrink
nn.functional.hardsigmoid nn.functional.hardswish nn.functional.hardtanh nn.functional.hardtanh_
nn.functional.hinge_embedding_loss nn.functional.huber_loss nn.functional.instance_norm
nn.functional.interpolate nn.functional.kl_div nn.functional.l1_loss nn.functional.layer_norm
nn.functional.leaky_relu nn.functional.leaky_relu_ nn.functional.linear nn.functional.linear_cross_entropy
nn.functional.local_response_norm nn.functional.log_softmax nn.functional.lp_pool1d nn.functional.lp_pool2d
nn.functional.lp_pool3d nn.functional.margin_ranking_loss nn.functional.max_pool1d
nn.functional.max_pool1d_with_indices nn.functional.max_pool2d nn.functional.max_pool2d_with_indices
nn.functional.max_pool3d nn.functional.max_pool3d_with_indices nn.functional.max_unpool1d
nn.functional.max_unpool2d nn.functional.max_unpool3d nn.functional.mish nn.functional.mse_loss
nn.functional.multi_margin_loss nn.functional.multilabel_margin_loss nn.functional.multilabel_soft_margin_loss
nn.functional.native_channel_shuffle nn.functional.nll_loss nn.functional.normalize nn.functional.one_hot
nn.functional.pad nn.functional.pairwise_distance nn.functional.pdist nn.functional.pixel_shuffle
nn.functional.pixel_unshuffle nn.functional.poisson_nll_loss nn.functional.prelu nn.functional.relu
nn.functional.relu6 nn.functional.relu_ nn.functional.rms_norm nn.functional.rrelu nn.functional.rrelu_
nn.functional.scaled_dot_product_attention nn.functional.scaled_mm nn.functional.selu nn.functional.selu_
nn.functional.sigmoid nn.functional.silu nn.functional.smooth_l1_loss nn.functional.soft_margin_loss
nn.functional.softmax nn.functional.softmin nn.functional.softplus nn.functional.softshrink
nn.functional.softsign nn.functional.tanh nn.functional.tanhshrink nn.functional.threshold
nn.functional.threshold_ nn.functional.triplet_margin_loss nn.functional.triplet_margin_with_distance_loss
nn.functional.unfold nn.functional.upsample nn.functional.upsample_bilinear nn.functional.upsample_nearest
nonzero nonzero_static norm norm_except_dim normal not_equal nuclear_norm ones ones_like orgqr ormqr outer
pairwise_distance pdist permute permute_copy pinverse pixel_shuffle pixel_unshuffle poisson poisson_nll_loss
polar polygamma positive pow prelu prod put q_per_channel_scales q_per_channel_zero_points qr quantile
quantize_per_channel quantize_per_tensor quantize_per_tensor_dynamic quantized_batch_norm quantized_gru
quantized_gru_cell quantized_lstm quantized_lstm_cell quantized_max_pool1d quantized_max_pool2d
quantized_max_pool3d quantized_rnn_relu_cell quantized_rnn_tanh_cell rad2deg rad2deg_ rand rand_like randint
randint_like randn randn_like randperm range ravel real reciprocal reciprocal_ relu relu_ remainder renorm
repeat_interleave reshape resize_as_ resize_as_sparse_ resolve_conj resolve_neg rms_norm rnn_relu
rnn_relu_cell rnn_tanh rnn_tanh_cell roll rot90 round round_ row_indices_copy row_stack rrelu rrelu_ rsqrt
rsqrt_ rsub saddmm scalar_tensor scatter scatter_add scatter_reduce searchsorted segment_reduce select
select_copy select_scatter selu selu_ sgn sigmoid sigmoid_ sign signbit sin sin_ sinc sinc_ sinh sinh_
slice_copy slice_inverse slice_scatter slogdet smm softmax sort sparse_bsc_tensor sparse_bsr_tensor
sparse_compressed_tensor sparse_coo_tensor sparse_csc_tensor sparse_csr_tensor special.airy_ai
special.bessel_j0 special.bessel_j1 special.bessel_y0 special.bessel_y1 special.chebyshev_polynomial_t
special.chebyshev_polynomial_u special.chebyshev_polynomial_v special.chebyshev_polynomial_w special.digamma
special.entr special.erf special.erfc special.erfcx special.erfinv special.exp2 special.expit special.expm1
special.gammainc special.gammaincc special.gammaln special.hermite_polynomial_h special.hermite_polynomial_he
special.i0 special.i0e special.i1 special.i1e special.laguerre_polynomial_l special.legendre_polynomial_p
special.log1p special.log_ndtr special.log_softmax special.logit special.logsumexp special.modified_bessel_i0
special.modified_bessel_i1 special.modified_bessel_k0 special.modified_bessel_k1 special.multigammaln
special.ndtr special.ndtri special.polygamma special.psi special.round special.scaled_modified_bessel_k0
special.scaled_modified_bessel_k1 special.shifted_chebyshev_polynomial_t
special.shifted_chebyshev_polynomial_u special.shifted_chebyshev_polynomial_v
special.shifted_chebyshev_polynomial_w special.sinc special.softmax special.spherical_bessel_j0
special.xlog1py special.xlogy special.zeta split_with_sizes spmm sqrt sqrt_ square square_ squeeze
squeeze_copy sspaddmm stack std std_mean stft sub subtract sum svd swapaxes swapdims t t_copy take
take_along_dim tan tan_ tanh tanh_ tensor tensor_split tensordot threshold threshold_ tile topk trace
transpose transpose_copy trapezoid trapz triangular_solve tril tril_indices triplet_margin_loss triu
triu_indices true_divide trunc trunc_ unbind unflatten unfold_copy unique_consecutive unsafe_chunk
unsafe_split unsafe_split_with_sizes unsqueeze unsqueeze_copy values_copy vander var var_mean vdot
view_as_complex view_as_complex_copy view_as_real view_as_real_copy view_copy vsplit vstack where xlogy xlogy_
zero_ zeros zeros_like
""".split())

METHODS = frozenset("""
abs abs_ absolute absolute_ acos acos_ acosh acosh_ add add_ addbmm addbmm_ addcdiv addcdiv_ addcmul addcmul_
addmm addmm_ addmv addmv_ addr addr_ adjoint all amax amin aminmax angle any apply_ arccos arccos_ arccosh
arccosh_ arcsin arcsin_ arcsinh arcsinh_ arctan arctan2 arctan2_ arctan_ arctanh arctanh_ argmax argmin
argsort argwhere as_strided as_strided_ as_strided_scatter asin asin_ asinh asinh_ atan atan2 atan2_ atan_
atanh atanh_ baddbmm baddbmm_ bernoulli bernoulli_ bfloat16 bincount bitwise_and bitwise_and_
bitwise_left_shift bitwise_left_shift_ bitwise_not bitwise_not_ bitwise_or bitwise_or_ bitwise_right_shift
bitwise_right_shift_ bitwise_xor bitwise_xor_ bmm bool broadcast_to byte cauchy_ ccol_indices ceil ceil_ chalf
char cholesky cholesky_inverse cholesky_solve chunk clamp clamp_ clamp_max clamp_max_ clamp_min clamp_min_
clip clip_ clone coalesce col_indices conj conj_physical conj_physical_ contiguous copy_ copysign copysign_
corrcoef cos cos_ cosh cosh_ count_nonzero cov cpu cross crow_indices cuda cummax cummin cumprod cumprod_
cumsum cumsum_ deg2rad deg2rad_ dequantize det detach detach_ diag diag_embed diagflat diagonal
diagonal_scatter diff digamma digamma_ dist div div_ divide divide_ dot double dsplit eq eq_ erf erf_ erfc
erfc_ erfinv erfinv_ exp exp2 exp2_ exp_ expand expand_as expm1 expm1_ exponential_ fill_ fill_diagonal_ fix
fix_ flatten flip fliplr flipud float float_power float_power_ floor floor_ floor_divide floor_divide_ fmax
fmin fmod fmod_ frac frac_ frexp gather gcd gcd_ ge ge_ geometric_ geqrf ger greater greater_ greater_equal
greater_equal_ gt gt_ half hardshrink hash_tensor heaviside heaviside_ histc histogram hsplit hypot hypot_ i0
i0_ igamma igamma_ igammac igammac_ index_add index_add_ index_copy index_copy_ index_fill index_fill_
index_put index_put_ index_reduce index_reduce_ index_select indices inner int int_repr inverse isclose
isfinite isinf isnan isneginf isposinf isreal istft kron kthvalue lcm lcm_ ldexp ldexp_ le le_ lerp lerp_ less
less_ less_equal less_equal_ lgamma lgamma_ log log10 log10_ log1p log1p_ log2 log2_ log_ log_normal_
log_softmax logaddexp logaddexp2 logcumsumexp logdet logical_and logical_and_ logical_not logical_not_
logical_or logical_or_ logical_xor logical_xor_ logit logit_ logsumexp long lt lt_ lu_solve map2_ map_
masked_fill masked_fill_ masked_scatter masked_scatter_ masked_select matmul matrix_exp matrix_power max
maximum mean median min minimum mm mode moveaxis movedim msort mul mul_ multinomial multiply multiply_ mv
mvlgamma mvlgamma_ nan_to_num nan_to_num_ nanmean nanmedian nanquantile nansum narrow narrow_copy ne ne_ neg
neg_ negative negative_ new new_empty new_empty_strided new_full new_ones new_tensor new_zeros nextafter
nextafter_ nonzero nonzero_static norm normal_ not_equal not_equal_ orgqr ormqr outer permute pin_memory
pinverse polygamma polygamma_ positive pow pow_ prelu prod put put_ q_per_channel_scales
q_per_channel_zero_points qr quantile rad2deg rad2deg_ random_ ravel reciprocal reciprocal_ relu relu_
remainder remainder_ renorm renorm_ repeat repeat_interleave requires_grad_ reshape reshape_as resize resize_
resize_as resize_as_ resize_as_sparse_ resolve_conj resolve_neg roll rot90 round round_ row_indices rsqrt
rsqrt_ scatter scatter_ scatter_add scatter_add_ scatter_reduce scatter_reduce_ select select_scatter set_ sgn
sgn_ short sigmoid sigmoid_ sign sign_ signbit sin sin_ sinc sinc_ sinh sinh_ slice_inverse slice_scatter
slogdet smm softmax sort sparse_mask sparse_resize_ sparse_resize_and_clear_ split split_with_sizes sqrt sqrt_
square square_ squeeze squeeze_ sspaddmm std stft sub sub_ subtract subtract_ sum sum_to_size svd swapaxes
swapaxes_ swapdims swapdims_ t t_ take take_along_dim tan tan_ tanh tanh_ tensor_split tile to to_dense
to_mkldnn to_padded_tensor to_sparse to_sparse_bsc to_sparse_bsr to_sparse_csc to_sparse_csr topk trace
transpose transpose_ triangular_solve tril tril_ triu triu_ true_divide true_divide_ trunc trunc_ type_as
unbind unflatten unfold uniform_ unique_consecutive unsafe_chunk unsafe_split unsafe_split_with_sizes
unsqueeze unsqueeze_ values var vdot view view_as vsplit where xlogy xlogy_ xpu zero_
""".split())

ATTRIBUTES = frozenset("""
H L LD LU P Q R S T U V Vh a bin_edges cloned_coefficient data eigenvalues eigenvectors exponent hist idx imag
indices info inverse logabsdet mH mT mantissa max min pivots rank real residuals result sign singular_values
solution tau values
""".split())

ON_DEFAULT_DEVICE = frozenset("""
arange as_tensor asarray bartlett_window blackman_window empty empty_permuted empty_quantized empty_strided
eye fft.fftfreq fft.rfftfreq full hamming_window hann_window kaiser_window linspace logspace
nested.nested_tensor ones rand randint randn randperm range scalar_tensor sparse_bsc_tensor sparse_bsr_tensor
sparse_compressed_tensor sparse_coo_tensor sparse_csc_tensor sparse_csr_tensor tensor tril_indices
triu_indices zeros
""".split())
