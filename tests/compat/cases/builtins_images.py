"""SystemDS builtins: images as matrices, one of them (`img_*`) or one a row (`img_*_linearized`)."""

import numpy as np

import data
from case import builtin

one = data.image(12, 10)
two = data.image(12, 10, 18)
rows = np.vstack([data.image(1, 120, seed) for seed in (19, 20, 21)])
SIZE = "s_cols=10, s_rows=12"

# Arguments of the plain one and what the linearized one has more of.
ARGUMENTS = {
    "img_brightness": ("value=40, channel_max=255", ""),
    "img_crop": ("w=4, h=6, x_offset=1, y_offset=-1", SIZE),
    "img_cutout": ("x=3, y=4, width=5, height=2, fill_value=7", SIZE),
    "img_invert": ("max_value=255", ""),
    "img_posterize": ("bits=3", ""),
    "img_rotate": ("radians=0.6, fill_value=9", SIZE),
    "img_shear": ("shear_x=0.3, shear_y=-0.2, fill_value=5", SIZE),
    "img_transform": ("out_w=9, out_h=11, a=0.9, b=0.2, c=1, d=-0.1, e=1.1, f=0.5, fill_value=3", SIZE),
    "img_translate": ("offset_x=2.4, offset_y=-1.7, out_w=11, out_h=9, fill_value=8", "o_w=10, o_h=12"),
}
for name, (arguments, more) in ARGUMENTS.items():
    builtin(name, f"Y = {name}(img_in=A, {arguments})", "Y", A=one)
    builtin(f"{name}_linearized", f"Y = {name}_linearized(img_in=A, {', '.join(filter(None, [arguments, more]))})", "Y", A=rows)
for axis in ("TRUE", "FALSE"):
    builtin("img_mirror", f"Y = img_mirror(img_in=A, horizontal_axis={axis})", "Y", name=f"img_mirror-{axis.lower()}", A=one)
    builtin("img_mirror_linearized", f"Y = img_mirror_linearized(img_matrix=A, horizontal_axis={axis}, original_rows=12, original_cols=10)", "Y", name=f"img_mirror_linearized-{axis.lower()}", A=rows)
builtin("img_sample_pairing", "Y = img_sample_pairing(img_in1=A, img_in2=B, weight=0.3)", "Y", A=one, B=two)
builtin("img_sample_pairing_linearized", "Y = img_sample_pairing_linearized(img_in1=A, img_in2=B, weight=0.3)", "Y", A=rows, B=two.reshape(1, 120))
builtin("img_rotate", "Y = img_rotate(img_in=A, radians=1.5707963, fill_value=0)", "Y", name="img_rotate-quarter", A=one)
